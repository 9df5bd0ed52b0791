"""A port that speaks TLS: who gets in, who does not, and how many may try."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from support.certificates import Authority
from weft.config.settings import settings_with
from weft.roles import port as port_module
from weft.roles.listener import open_listener
from weft.roles.port import open_port
from weft.roles.tls import client_context, server_context

SOON = 5.0
RUNNERS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)  # type: ignore[attr-defined]


Scenario = Callable[[int, ssl.SSLContext], Awaitable[None]]


def with_port(run: Callable[..., None], place: Path, scenario: Scenario) -> None:
    """Run it against a port at 127.0.0.2, given its number and what to dial it with; no task may fail unseen."""
    settings = settings_with(Authority(place).tls("127.0.0.2"))
    faults: list[object] = []

    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        with open_listener("spider.listen", "127.0.0.2", 0, "t") as listener:
            number, dialler = listener.getsockname()[1], client_context(settings)
            assert dialler is not None
            port = await open_port(listener, Echo, server_context(settings))
            assert await echoed(number, dialler) == b"hello\n", "and the loop has opened its own files"
            await scenario(number, dialler)
            port.close()
            await asyncio.sleep(0)

    run(story())
    assert not faults


async def echoed(number: int, dialler: ssl.SSLContext) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.2", number, ssl=dialler)
    writer.write(b"hello\n")
    async with asyncio.timeout(SOON):
        line = await reader.readline()
    writer.close()
    return line


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def open_files_sink_to(count: int) -> None:
    async with asyncio.timeout(SOON):
        while open_files() > count:
            await asyncio.sleep(0.01)


@RUNNERS
@pytest.mark.parametrize(
    "words", [b"HELLO 1 s3cret\n", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, b"\x16\x03\x01\0\x05abcde"]
)
def test_who_speaks_something_else_is_closed_with_one_line_in_the_log(run, tmp_path, caplog, words):
    async def scenario(number: int, dialler: ssl.SSLContext) -> None:
        before = open_files()
        reader, writer = await asyncio.open_connection("127.0.0.2", number)
        writer.write(words)
        async with asyncio.timeout(SOON):
            with suppress(ConnectionResetError):
                await reader.read()
        writer.close()
        await open_files_sink_to(before)
        assert await echoed(number, dialler) == b"hello\n"

    with_port(run, tmp_path, scenario)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("connection closed peer=127.0.0.1:")
    if words[:1] != b"\x16":
        assert "it does not speak TLS, and this port speaks nothing else (tls.ca is not set there)" in said


@RUNNERS
@pytest.mark.parametrize("words", [b"", b"\x16\x03", b"HE"])
def test_a_handshake_that_stalls_is_timed_out(run, tmp_path, caplog, monkeypatch, words):
    monkeypatch.setattr(port_module, "HANDSHAKE_SECONDS", 0.2)

    async def scenario(number: int, dialler: ssl.SSLContext) -> None:
        before = open_files()
        reader, writer = await asyncio.open_connection("127.0.0.2", number)
        writer.write(words)
        async with asyncio.timeout(SOON):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        await open_files_sink_to(before)

    with_port(run, tmp_path, scenario)
    assert [record.getMessage().partition("reason=")[2] for record in caplog.records] == [
        "its TLS handshake did not end in time"
    ]


@RUNNERS
def test_a_flood_of_stalled_handshakes_is_bounded_and_keeps_nobody_out(run, tmp_path, monkeypatch):
    monkeypatch.setattr(port_module, "HANDSHAKE_SECONDS", 10 * SOON)

    async def scenario(number: int, dialler: ssl.SSLContext) -> None:
        before = open_files()
        strangers = []
        for _ in range(100):
            stranger = socket.create_connection(("127.0.0.2", number))
            stranger.setblocking(False)
            strangers.append(stranger)
            await asyncio.sleep(0)
        # Both ends of a connection are ours: 100 of theirs, at most 32 of the port's.
        await open_files_sink_to(before + 100 + 32)
        assert await echoed(number, dialler) == b"hello\n"
        for stranger in strangers:
            stranger.close()
        await open_files_sink_to(before)

    with_port(run, tmp_path, scenario)


@RUNNERS
@pytest.mark.parametrize("is_alerting", [True, False])
def test_who_distrusts_our_certificate_is_told_in_the_log(run, tmp_path, caplog, is_alerting):
    (tmp_path / "other").mkdir()
    stranger = ssl.create_default_context(cafile=str(Authority(tmp_path / "other").file))

    async def scenario(number: int, dialler: ssl.SSLContext) -> None:
        with pytest.raises(ssl.SSLCertVerificationError):
            await (asyncio.to_thread(dial, number) if is_alerting else dial_silently(number))
        async with asyncio.timeout(SOON):
            while not caplog.records:
                await asyncio.sleep(0.01)

    async def dial_silently(number: int) -> None:
        await asyncio.open_connection("127.0.0.2", number, ssl=stranger)

    def dial(number: int) -> None:
        with socket.create_connection(("127.0.0.2", number)) as connection:
            stranger.wrap_socket(connection, server_hostname="127.0.0.2")

    with_port(run, tmp_path, scenario)
    assert "it refused our certificate (tls.certificate here, tls.ca there)" in caplog.records[0].getMessage()


@RUNNERS
def test_a_closed_port_takes_nobody_and_ends_handshakes(run, tmp_path):
    settings = settings_with(Authority(tmp_path).tls("127.0.0.2"))

    async def story() -> None:
        listener = open_listener("spider.listen", "127.0.0.2", 0, "t")
        number = listener.getsockname()[1]
        port = await open_port(listener, Echo, server_context(settings))
        reader, writer = await asyncio.open_connection("127.0.0.2", number)
        await asyncio.sleep(0.05)
        port.close()
        async with asyncio.timeout(SOON):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.2", number)

    run(story())


@RUNNERS
def test_running_out_of_open_files_closes_nothing(run, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(port_module, "_ACCEPT_AGAIN", 0.05)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def scenario(number: int, dialler: ssl.SSLContext) -> None:
        waiting = socket.create_connection(("127.0.0.2", number))
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            async with asyncio.timeout(SOON):
                while not caplog.records:
                    await asyncio.sleep(0.01)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        waiting.close()
        assert await echoed(number, dialler) == b"hello\n"

    with_port(run, tmp_path, scenario)
    assert caplog.records[0].getMessage() == "a connection could not be accepted: Too many open files"

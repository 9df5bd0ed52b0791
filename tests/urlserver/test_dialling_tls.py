"""A URL server dials spiders with TLS: whom it accepts, and what it says of the others."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
import uvloop

from support.certificates import Authority
from support.running_spider import SOON, RunningSpider, fast_settings, running_spider
from support.webservers import ok, web_server
from weft.archive.record_reader import read_member_bytes
from weft.config import Settings
from weft.roles import port as port_module
from weft.roles.tls import client_context
from weft.urlserver import spider_connection
from weft.urlserver.in_flight import SpiderId
from weft.urlserver.spider_connection import SpiderLine
from weft.wire import TransId

TOKEN = "s3cret"
HOST = "127.0.0.2"


class Heard:
    """What a spider said."""

    def __init__(self) -> None:
        self.done: list[TransId] = []
        self.connections = 0

    def connected(self, spider: SpiderId) -> None:
        self.connections += 1

    def disconnected(self, spider: SpiderId, *, has_replied: bool) -> None: ...

    def replied(self, spider: SpiderId, done: list[TransId], working: list[TransId]) -> None:
        self.done += done


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def settings_with_tls(values: dict[str, str], **changed: Any) -> Settings:
    names = {name.replace(".", "__"): value for name, value in values.items()}
    return fast_settings(**{"spider__listen": HOST, "spider__token": TOKEN, **names, **changed})


@asynccontextmanager
async def dialling(port: int, settings: Settings, host: str = HOST) -> AsyncIterator[tuple[SpiderLine, Heard]]:
    heard = Heard()
    line = SpiderLine(SpiderId(0), (host, port), settings.spider.token, heard, client_context(settings, host))
    keeping = asyncio.create_task(line.keep())
    try:
        yield line, heard
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def problem_of(port: int, settings: Settings) -> str:
    """Why it is not connected."""
    async with dialling(port, settings) as (line, _):
        async with asyncio.timeout(SOON):
            while line.problem == "not dialled yet":
                await asyncio.sleep(0.01)
        return line.problem


def refused(place: Path, spider: Settings, url_server: Settings) -> str:
    async def story() -> str:
        async with running_spider(place, spider) as running:
            return await problem_of(running.port, url_server)

    return uvloop.run(story())


def logged(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if words in record.getMessage()]


def record_over_tls(running: RunningSpider, settings: Settings, *places: Any) -> list[bytes]:
    """Records by position, all over one connection."""
    connection = HTTPSConnection(HOST, running.port, context=client_context(settings), timeout=SOON)
    found = []
    for place in places:
        target = f"/records?file={place.file}&offset={place.offset}&length={place.length}"
        connection.request("GET", target, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        assert answer.status == 200
        found.append(answer.read())
    connection.close()
    return found


def test_pages_are_fetched_and_records_read_over_tls(tmp_path: Path, authority: Authority) -> None:
    # Bytes that do not shrink: the answer is larger than what a socket takes at once.
    large = ssl.RAND_bytes(3_000_000)

    async def story() -> None:
        settings = settings_with_tls(authority.tls(HOST))
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            web.answers("/large", ok(large, b"Content-Type: image/png"))
            urls = [web.url("/small"), web.url("/large")]
            ids = running.links.claim(*urls)
            async with dialling(running.port, settings) as (line, heard), asyncio.timeout(SOON):
                while not heard.connections:
                    await asyncio.sleep(0.01)
                for number, (doc_id, url) in enumerate(zip(ids, urls, strict=True)):
                    line.write(f"0.0.{number} {doc_id} 127.0.0.1 {url}\n".encode())
                while len(heard.done) < 2:
                    await asyncio.sleep(0.01)
            places = [running.links.result(doc_id).position for doc_id in ids]
            found = await asyncio.to_thread(record_over_tls, running, settings, *places)
            assert found == [read_member_bytes(running.archive, place) for place in places]
            assert len(found[1]) > len(large)

    uvloop.run(story())


@pytest.mark.parametrize(("listen", "dialled"), [("[::1]", "::1"), ("127.0.0.1", "localhost")])
def test_ipv6_addresses_and_names_are_checked_too(
    tmp_path: Path, authority: Authority, listen: str, dialled: str
) -> None:
    async def story() -> None:
        good, other = (settings_with_tls(authority.tls(name), spider__listen=listen) for name in (dialled, "::2"))
        async with running_spider(tmp_path, good) as running, dialling(running.port, good, dialled) as (line, heard):
            async with asyncio.timeout(SOON):
                while not heard.connections:
                    await asyncio.sleep(0.01)
        async with running_spider(tmp_path, other) as running, dialling(running.port, good, dialled) as (line, heard):
            async with asyncio.timeout(SOON):
                while f"its certificate does not name {dialled}" not in line.problem:
                    await asyncio.sleep(0.01)

    uvloop.run(story())


def test_a_certificate_of_another_ca_is_refused(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    said = refused(tmp_path, settings_with_tls(other.tls(HOST)), settings_with_tls(authority.tls(HOST)))
    assert said.startswith("its certificate is not of the CA in tls.ca (")


@pytest.mark.parametrize("name", ["127.0.0.3", "spider.example", "127.0.0.2.example"])
def test_a_certificate_for_another_name_is_refused(tmp_path: Path, authority: Authority, name: str) -> None:
    said = refused(tmp_path, settings_with_tls(authority.tls(name)), settings_with_tls(authority.tls(HOST)))
    assert said == "its certificate does not name 127.0.0.2; expected that among the names of its tls.certificate"


def test_a_certificate_that_has_expired_is_refused(tmp_path: Path, authority: Authority) -> None:
    said = refused(tmp_path, settings_with_tls(authority.tls(HOST, days=-1)), settings_with_tls(authority.tls(HOST)))
    assert said == "its certificate has expired; expected a new one in its tls.certificate"


def test_a_spider_without_tls_is_refused_and_knows_why(tmp_path: Path, authority: Authority, caplog: Any) -> None:
    said = refused(tmp_path, settings_with_tls({}), settings_with_tls(authority.tls(HOST)))
    assert said == "it does not speak TLS, or hung up in the handshake; this node speaks TLS alone (tls.ca)"
    assert len(logged(caplog, f"spider not connected spider={HOST}:")) == 1
    assert len(logged(caplog, "it speaks TLS, and this port does not (tls.certificate is not set here)")) == 1


def test_a_url_server_without_tls_is_refused_and_told_why(tmp_path: Path, authority: Authority, caplog: Any) -> None:
    said = refused(tmp_path, settings_with_tls(authority.tls(HOST)), settings_with_tls({}))
    assert "expected a spider of this version with the same spider.token and no TLS (tls.ca is not set here)" in said
    assert len(logged(caplog, "it does not speak TLS, and this port speaks nothing else")) == 1
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("with_tls", [True, False])
def test_another_token_is_named_with_the_spider(
    tmp_path: Path, authority: Authority, caplog: Any, with_tls: bool
) -> None:
    tls = authority.tls(HOST) if with_tls else {}
    said = refused(tmp_path, settings_with_tls(tls), settings_with_tls(tls, spider__token="other"))
    assert "expected a spider of this version with the same spider.token" in said
    (line,) = logged(caplog, "spider not connected")
    assert f"spider={HOST}:" in line
    assert logged(caplog, "HELLO with a wrong token")


def test_a_spider_that_never_ends_the_handshake_is_given_up_and_dialled_again(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spider_connection, "CONNECT_SECONDS", 0.1)
    dials: list[asyncio.StreamWriter] = []

    async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        dials.append(writer)
        await reader.read()
        writer.close()
        closed.append(writer)

    closed: list[asyncio.StreamWriter] = []

    async def story() -> None:
        server = await asyncio.start_server(stall, HOST, 0)
        port = server.sockets[0].getsockname()[1]
        async with dialling(port, settings_with_tls(authority.tls(HOST))) as (line, heard), asyncio.timeout(SOON):
            while len(dials) < 3:
                await asyncio.sleep(0.01)
            assert line.problem == "no spider answers (timed out)"
            assert not heard.connections
        async with asyncio.timeout(SOON):
            while len(closed) < len(dials):
                await asyncio.sleep(0.01)
        server.close()

    uvloop.run(story())


def test_the_url_server_comes_back_when_the_spider_speaks_tls(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_module, "HANDSHAKE_SECONDS", 1.0)
    monkeypatch.setattr(spider_connection, "LONGEST_WAIT", 0.2)

    async def story() -> None:
        async with running_spider(tmp_path, settings_with_tls({})) as running:
            port = running.port
            assert await problem_of(port, settings_with_tls(authority.tls(HOST)))
        good = settings_with_tls(authority.tls(HOST), spider__listen=f"{HOST}:{port}")
        async with dialling(port, good) as (line, heard):
            await asyncio.sleep(0.3)
            async with running_spider(tmp_path, good), asyncio.timeout(SOON):
                while not heard.connections:
                    await asyncio.sleep(0.01)
                assert line.problem == ""

    uvloop.run(story())


@pytest.mark.parametrize("with_tls", [True, False])
def test_who_does_not_read_its_answers_is_closed(
    tmp_path: Path, authority: Authority, caplog: Any, with_tls: bool
) -> None:
    settings = settings_with_tls(authority.tls(HOST) if with_tls else {})
    lines = b"".join(b"%064d 99 127.0.0.1 http://a.test/unknown\n" % number for number in range(5000))

    async def ask_without_end(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HELLO 1 {TOKEN}\n".encode())
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(lines)
                await writer.drain()
                await asyncio.sleep(0.01)  # drain() does not always wait, and both ends share this loop

    async def story() -> None:
        async with running_spider(tmp_path, settings) as running:
            with socket.socket() as deaf:
                deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                deaf.setblocking(False)
                await asyncio.get_running_loop().sock_connect(deaf, (HOST, running.port))
                tls = client_context(settings)
                name = HOST if with_tls else None
                reader, writer = await asyncio.open_connection(sock=deaf, ssl=tls, server_hostname=name, limit=1024)
                async with asyncio.timeout(SOON):
                    await ask_without_end(writer)
                    while not logged(caplog, "does not read its answers"):
                        await asyncio.sleep(0.01)
                assert len(running.limit) == 0
                writer.close()
                del reader

    uvloop.run(story())

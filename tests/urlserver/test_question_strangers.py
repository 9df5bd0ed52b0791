"""Whoever can reach the socket for questions of a URL server without its token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.roles.listener import open_listener
from weft.urlserver.view import questions
from weft.urlserver.view.questions import LONGEST_QUESTION, HostAnswer, serve_questions
from weft.urlserver.view.snapshot import HostView, Snapshot

SOON = 20.0


class Silent:
    def explain(self, web_host: str, url: str) -> HostView:
        raise WeftError(f"nothing is known of {web_host} {url}")

    def queues(self) -> Snapshot:
        raise WeftError("there are no queues")


def with_server(token: str, scenario: Callable[[int], Awaitable[None]]) -> list[object]:
    """Run it against a server; returns what nobody caught."""
    faults: list[object] = []

    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        with open_listener("urlserver.listen", "127.0.0.1", 0, token) as listener:
            server = await serve_questions(listener, token, Silent())
            await scenario(listener.getsockname()[1])
            server.close()

    asyncio.run(story())
    return faults


async def answer(port: int, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
        async with asyncio.timeout(SOON):
            return await reader.read()
    except (ConnectionError, OSError):
        return b""
    finally:
        writer.close()


DEEP = b'{"web_host":' + b"[" * 8000 + b"\n"
SKIPPED = b'{"x":' + b'{"x":' * 2000 + b"\n"


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=200),
            st.sampled_from(
                [b"\n", b"\0", b'{"web_host":"', b'","token":"', b'"}\n', b'\\ud800"', b"x" * 20_000, b"\xff"]
            ),
        ),
        max_size=8,
    )
)
@example([DEEP])
@example([SKIPPED])
@example([b'{"web_host":"a","token":"\\ud800"}\n'])
@example([b'{"web_host":"\\u0000","url":"\\n","token":"\xff"}\n'])
@example([b"[" * LONGEST_QUESTION * 2])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.parametrize("token", ["", "s3cret"])
def test_no_bytes_of_a_stranger_do_harm(caplog, token, pieces):
    caplog.clear()

    async def scenario(port: int) -> None:
        await answer(port, *pieces)
        asked = msgspec.json.encode({"web_host": "a.test", "token": token})
        found = msgspec.json.decode(await answer(port, asked, b"\n"), type=HostAnswer)
        assert found.problem == "nothing is known of a.test "

    assert not with_server(token, scenario)
    assert not [record.message for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_question_that_never_ends_is_closed(monkeypatch):
    monkeypatch.setattr(questions, "SECONDS", 0.05)

    async def scenario(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b'{"web_host":')
        async with asyncio.timeout(SOON):
            assert await reader.read() == b""
        writer.close()

    assert not with_server("", scenario)


def test_a_flood_of_connections_does_not_keep_others_out():
    async def scenario(port: int) -> None:
        strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
        assert b"nothing is known" in await answer(port, b'{"web_host":"a","token":"s"}\n')
        async with asyncio.timeout(SOON):
            ended = [not await reader.read() for reader, _ in strangers[:150]]
        assert all(ended), "the oldest were closed long before their time"
        for _, writer in strangers:
            writer.close()

    assert not with_server("s", scenario)

"""A kept connection on which something came that nobody asked for: it is never the answer to the next request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.certificates import Authority
from support.running_spider import fast_settings, running_spider
from support.webservers import WebServer, ok, web_server
from weft.spider.kept_connections import KeptConnections

HEAD = b"HTTP/1.1 200 OK\r\n"
GOOD = ok(b"good")
EVIL = ok(b"evil")
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n"
CONTRADICTION = CHUNKED.replace(b"Transfer", b"Content-Length: 4\r\nTransfer")
NOTHING = b"HTTP/1.1 204 No Content\r\n\r\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def says_more(web: WebServer, first: bytes, more: bytes) -> Callable[..., Awaitable[None]]:
    """Answer /1 with `first`; what is returned sends `more` on that connection and waits until it has arrived."""
    writers: list[asyncio.StreamWriter] = []

    async def conversation(_: bytes, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(first)

    async def say(host: str = "127.0.0.1") -> None:
        writers[0].write(more)
        await writers[0].drain()
        # Loopback delivers in order: when this has come, that has.
        tls = ssl._create_unverified_context() if web.scheme == "https" else None
        reader, writer = await asyncio.open_connection(host, web.port, ssl=tls)
        writer.write(b"GET /mark HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"</html>")
        writer.close()

    web.conversations["/1"] = conversation
    return say


@pytest.mark.parametrize("first", [GOOD, CHUNKED, CONTRADICTION, NOTHING, ok(b""), ok(b"", status=b"304 Not Modified")])
@pytest.mark.parametrize("more", [EVIL, EVIL[:20], b"\r\n", b"H"])
def test_what_came_after_a_response_is_not_the_next_one(tmp_path, first, more):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            say = says_more(web, first, more)
            await running.fetch(web.url("/1"))
            await say()
            for path in ("/2", "/3"):
                result = await running.fetch(web.url(path))
                assert (result.error, result.status) == ("", 200)
                assert running.record(result).body == f"<html><title>page</title>{path}</html>".encode()
            asked = [request.split(b" ")[1] for request in web.requests]
            assert asked == [b"/1", b"/mark", b"/2", b"/3"], "nobody is asked twice"

    asyncio.run(scenario())


@pytest.mark.parametrize("first", [GOOD, CHUNKED, CONTRADICTION, NOTHING])
def test_what_came_together_with_a_response_is_not_the_next_one(tmp_path, first):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/1", first + EVIL)
            await running.fetch(web.url("/1"))
            assert b"/2" in running.record(await running.fetch(web.url("/2"))).body

    asyncio.run(scenario())


@pytest.mark.skipif(not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
def test_the_same_holds_over_ipv6(tmp_path):
    async def scenario():
        async with web_server(host="::1") as web, running_spider(tmp_path) as running:
            say = says_more(web, GOOD, EVIL)
            await running.fetch(web.url("/1"), ip="::1")
            await say("::1")
            assert b"/2" in running.record(await running.fetch(web.url("/2"), ip="::1")).body

    asyncio.run(scenario())


def test_the_same_holds_within_tls(tmp_path, authority):
    async def scenario():
        settings = fast_settings(spider__ca_file=str(authority.file))
        async with web_server(authority.server("a.test")) as web, running_spider(tmp_path, settings) as running:
            say = says_more(web, GOOD, EVIL)
            await running.fetch(web.url("/1"))
            await say()
            assert b"/2" in running.record(await running.fetch(web.url("/2"))).body

    asyncio.run(scenario())


def test_a_quiet_connection_is_used_again(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            for number in range(5):
                await running.fetch(web.url(f"/{number}"))
            assert web.connections == 1

    asyncio.run(scenario())


def test_unread_bytes_and_an_end_are_noticed_and_numbers_are_used_again():
    kept, (ours, theirs) = KeptConnections(), socket.socketpair()
    with ours, theirs:
        kept.remember(("127.0.0.1", 1000), ours.fileno())
        assert not kept.has_unread(("127.0.0.1", 1000))
        theirs.send(b"x")
        assert kept.has_unread(("127.0.0.1", 1000))
        kept.remember(("127.0.0.1", 1001), ours.fileno())
        assert not kept.has_unread(("127.0.0.1", 1000)), "the number belongs to another connection now"
        assert kept.has_unread(("127.0.0.1", 1001))
        assert len(kept) == 1
        ours.recv(1)
        theirs.close()
        assert kept.has_unread(("127.0.0.1", 1001))
    assert not kept.has_unread(("127.0.0.1", 7))

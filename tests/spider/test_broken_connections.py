"""A kept connection that breaks, at each moment: the request is sent once, and goes back without a result."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable

import pytest

from support.certificates import Authority
from support.memory_fetcher import MemoryFetcher
from support.running_spider import RunningSpider, fast_settings, running_spider
from support.webservers import Conversation, WebServer, ok, tunnel, web_server
from weft.mgmt.values import LinkState, Result
from weft.model.fetch_error import FetchError
from weft.model.site import Site, SiteSettings

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
GOOD = ok(b"good")
Breaks = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def closes(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def resets(writer: asyncio.StreamWriter) -> None:
    no_farewell = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_farewell)
    writer.transport.abort()


def says(piece: bytes, then: Breaks) -> Conversation:
    async def conversation(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(piece)
        await writer.drain()
        await then(writer)

    return conversation


def times_asked(web: WebServer, path: str) -> int:
    return [request.split(b" ")[1].decode() for request in web.requests].count(path)


async def warm_up(running: RunningSpider, web: WebServer) -> None:
    """Leave one connection that is kept."""
    assert (await running.fetch(web.url("/first"))).error == ""
    assert web.connections == 1


def is_still_wanted(running: RunningSpider, web: WebServer, path: str) -> bool:
    """DONE came without a result: the URL server will call it a loss."""
    return running.links.is_open(running.links.ids[web.url(path)])


async def fetch_again(running: RunningSpider, url: str) -> Result:
    """What a URL server does with a loss, when the time has come."""
    links = running.links
    link = links.mgmt._state.links[links.ids[url]]
    links.mgmt.lost(links.crawler, [(link.doc_id, link.claim)])
    return await running.fetch(url)


@pytest.mark.parametrize("then", [closes, resets])
def test_a_request_that_was_read_and_not_answered_is_sent_once_and_has_no_result(tmp_path, then):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await warm_up(running, web)
            web.conversations["/broken"] = says(b"", then)
            assert await running.fetch(web.url("/broken")) is None
            assert times_asked(web, "/broken") == 1
            assert web.connections == 1, "nor is the server bothered with a connection"
            assert is_still_wanted(running, web, "/broken")

    asyncio.run(scenario())


@pytest.mark.parametrize("then", [closes, resets])
def test_the_next_order_goes_over_a_new_connection_and_has_a_result(tmp_path, then):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await warm_up(running, web)
            web.conversations["/broken"] = says(b"", then)
            url = web.url("/broken")
            assert await running.fetch(url) is None
            await running.fetch(web.url("/other"))
            assert web.connections == 2, "a connection is kept again"
            result = await fetch_again(running, url)
            assert (result.error, web.connections) == ("network", 3), "now the server is known to be at fault"
            assert times_asked(web, "/broken") == 2

    asyncio.run(scenario())


def test_a_page_whose_connection_broke_once_is_fetched_by_the_next_order(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await warm_up(running, web)
            web.conversations["/page"] = says(b"", resets)
            assert await running.fetch(web.url("/page")) is None
            del web.conversations["/page"]
            result = await fetch_again(running, web.url("/page"))
            assert (result.error, result.status) == ("", 200)
            assert b"/page" in running.record(result).body

    asyncio.run(scenario())


def test_a_connection_that_was_closed_before_the_request_is_made_anew_at_once(tmp_path):
    """Servers do that after some idle seconds. Nothing was sent, so nobody is asked twice."""

    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/first", GOOD, close=True)
            await warm_up(running, web)
            assert (await running.fetch(web.url("/second"))).error == ""
            assert (times_asked(web, "/second"), web.connections) == (1, 2)

    asyncio.run(scenario())


def test_a_connection_that_is_closed_at_the_same_moment_costs_no_more_than_a_loss(tmp_path):
    """The server stops reading and closes while the request is on its way: it may be read or not."""

    async def scenario():
        arrived = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(writer)
            request = await reader.readuntil(b"\r\n\r\n")
            requests.append(request.split(b" ")[1])
            writer.write(GOOD)
            await writer.drain()
            if len(connections) == 1:
                await reader.readexactly(1)  # the first byte of a request that nobody reads
                await resets(writer)
                arrived.set()

        connections: list[asyncio.StreamWriter] = []
        requests: list[bytes] = []
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://a.test:{server.sockets[0].getsockname()[1]}"
        async with running_spider(tmp_path) as running:
            assert (await running.fetch(f"{url}/first")).error == ""
            assert await running.fetch(f"{url}/second") is None
            assert arrived.is_set()
            assert (await fetch_again(running, f"{url}/second")).error == ""
            assert requests == [b"/first", b"/second"]
        server.close()
        for writer in connections:
            writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("then", [closes, resets])
@pytest.mark.parametrize("piece", [b"HTTP/1.1 200 OK\r\n", HEAD[:-2], HEAD, HEAD + b"half"])
def test_a_response_that_breaks_off_is_an_error_and_not_asked_for_again(tmp_path, piece, then):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await warm_up(running, web)
            web.conversations["/part"] = says(piece, then)
            result = await running.fetch(web.url("/part"))
            if then is closes:
                assert result.error == ("network" if piece.startswith(HEAD) else "bad_http")
            else:
                # A reset may destroy what came before it; then nothing has come.
                assert result is None or result.error == "network"
            assert (times_asked(web, "/part"), web.connections) == (1, 1)

    asyncio.run(scenario())


@pytest.mark.parametrize("piece", [b"H", b"HTTP/1.1 20"])
def test_part_of_a_first_line_leads_to_no_second_request(tmp_path, piece):
    """libcurl counts a line when it is whole, so it would ask again."""

    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await warm_up(running, web)
            web.conversations["/part"] = says(piece, closes)
            await running.fetch(web.url("/part"))
            assert (times_asked(web, "/part"), web.connections) == (1, 1)

    asyncio.run(scenario())


def test_a_new_connection_that_breaks_is_a_network_error(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.conversations["/broken"] = says(b"", resets)
            assert (await running.fetch(web.url("/broken"))).error == "network"
            assert times_asked(web, "/broken") == 1

    asyncio.run(scenario())


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_the_same_holds_within_tls(tmp_path, authority):
    async def scenario():
        settings = fast_settings(spider__ca_file=str(authority.file))
        tls: ssl.SSLContext = authority.server("a.test")
        async with web_server(tls) as web, running_spider(tmp_path, settings) as running:
            await warm_up(running, web)
            web.conversations["/broken"] = says(b"", resets)
            assert await running.fetch(web.url("/broken")) is None
            assert (times_asked(web, "/broken"), web.connections) == (1, 1)

    asyncio.run(scenario())


def test_the_same_holds_through_a_proxys_tunnel(tmp_path, authority):
    async def scenario():
        settings = fast_settings(spider__ca_file=str(authority.file))
        async with (
            web_server(authority.server("a.test")) as web,
            tunnel(b"HTTP/1.1 200 OK\r\n\r\n", web.port) as proxy,
            running_spider(tmp_path, settings) as running,
        ):
            running.links.mgmt.set_sites([Site(name="a.test", settings=SiteSettings(proxy=proxy))])
            await warm_up(running, web)
            web.conversations["/broken"] = says(b"", resets)
            assert await running.fetch(web.url("/broken")) is None
            assert times_asked(web, "/broken") == 1

    asyncio.run(scenario())


def test_a_server_that_breaks_every_one_of_six_kept_connections_is_asked_once(tmp_path):
    """libcurl by itself sends a request again over each of them, without a pause."""

    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            everybody, arrived = asyncio.Event(), []

            async def together(request: bytes, writer: asyncio.StreamWriter) -> None:
                arrived.append(request)
                if len(arrived) == 6:
                    everybody.set()
                await everybody.wait()
                writer.write(GOOD)

            urls = [web.url(f"/{number}") for number in range(6)]
            web.conversations |= {f"/{number}": together for number in range(6)} | {"/broken": says(b"", resets)}
            ids = running.links.claim(*urls)
            url_server = await running.connect()
            url_server.ask(*(f"t{doc_id} {doc_id} 127.0.0.1 {url}" for doc_id, url in zip(ids, urls, strict=True)))
            await url_server.until_done(*(f"t{doc_id}" for doc_id in ids))
            assert web.connections == 6
            assert await running.fetch(web.url("/broken")) is None
            assert times_asked(web, "/broken") == 1

    asyncio.run(scenario())


def test_what_one_fetch_lost_is_not_held_against_the_next_of_its_handle(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await warm_up(running, web)
            web.conversations["/broken"] = says(b"", resets)
            assert await running.fetch(web.url("/broken")) is None
            for number in range(3):
                assert (await running.fetch(web.url(f"/{number}"))).error == ""
            assert web.connections == 2, "the new one is used again"

    asyncio.run(scenario())


def test_whatever_fetches_the_answer_to_a_loss_is_done_without_a_result(tmp_path):
    async def scenario():
        url = "http://a.test/page"
        fetcher = MemoryFetcher({url: FetchError.LOST})
        async with running_spider(tmp_path, fetcher=fetcher) as running:
            assert await running.fetch(url) is None
            doc_id = running.links.ids[url]
            assert running.links.outcome(doc_id).state is LinkState.CRAWLING
            await fetch_again(running, url)
            assert [request.must_connect for request in fetcher.requests] == [False, True]

    asyncio.run(scenario())

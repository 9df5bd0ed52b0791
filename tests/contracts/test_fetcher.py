"""What every fetcher promises: the one in memory, and the one over libcurl with a web server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.memory_fetcher import MemoryFetcher
from support.running_spider import fast_settings
from support.webservers import ok, web_server
from weft.cli.run_spider import make_fetcher
from weft.model.fetch_error import FetchError
from weft.spider.fetching import PLAIN, Fetcher, Request, Response

SOON = 10.0
PAGES = {
    "/a": ok(b"first", b"Content-Type: text/html"),
    "/b": ok(b"second"),
    "/long": ok(b"x" * 100),
    "/picture": ok(b"colours", b"Content-Type: image/png"),
}
HELD, NOWHERE = "/held", "/nowhere"


@dataclass
class World:
    """A fetcher and a web with PAGES, a page that is held back until it is let go, and one that cannot be had."""

    fetcher: Fetcher
    url: Callable[[str], str]
    let_go: Callable[[], None]
    ended: list[tuple[str, Response]] = field(default_factory=list)
    is_closed: bool = False

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.fetcher.close()

    def start(self, path: str, most: int = 1000, then: Callable[[], None] | None = None, **wishes: Any):
        def on_end(response: Response) -> None:
            self.ended.append((path, response))
            if then is not None:
                then()

        request = Request(self.url(path), "127.0.0.1", ("Accept: */*",), 1, PLAIN, most, **wishes)
        return self.fetcher.start(request, on_end)

    async def until_ended(self, count: int) -> list[Response]:
        async with asyncio.timeout(SOON):
            while len(self.ended) < count:
                await asyncio.sleep(0.005)
        return [response for _, response in self.ended]


@asynccontextmanager
async def memory_world(_: Path) -> AsyncIterator[World]:
    def url(path: str) -> str:
        return f"http://a.test{path}"

    def let_go() -> None:
        fetcher.held.clear()
        fetcher.release()

    fetcher = MemoryFetcher({url(path): page for path, page in {**PAGES, HELD: ok(b"at last")}.items()})
    fetcher.held = {url(HELD)}
    yield World(fetcher, url, let_go)


@asynccontextmanager
async def curl_world(spool: Path) -> AsyncIterator[World]:
    let_go = asyncio.Event()

    async def held(_: bytes, writer: asyncio.StreamWriter) -> None:
        await let_go.wait()
        writer.write(ok(b"at last"))

    async def hang_up(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with web_server() as web:
        for path, page in PAGES.items():
            web.answers(path, page)
        web.conversations |= {HELD: held, NOWHERE: hang_up}
        yield World(make_fetcher(fast_settings(limits__idle_seconds=10.0), spool, 10), web.url, let_go.set)


Story = Callable[[World], Awaitable[None]]


@pytest.fixture(params=[memory_world, curl_world], ids=["memory", "curl"])
def tell(request, tmp_path) -> Callable[[Story], None]:
    async def run(story: Story) -> None:
        async with request.param(tmp_path) as world:
            try:
                await story(world)
            finally:
                world.close()

    return lambda story: asyncio.run(run(story))


def test_a_response_comes_as_the_server_sent_it(tell):
    async def story(world: World) -> None:
        world.start("/a")
        (response,) = await world.until_ended(1)
        head, body = PAGES["/a"].split(b"\r\n\r\n")
        assert (response.head, bytes(response.body)) == (head + b"\r\n\r\n", body)
        assert (response.error, response.is_cut) == (None, False)

    tell(story)


def test_an_end_is_never_reported_before_start_returns(tell):
    async def story(world: World) -> None:
        for path in ("/a", NOWHERE):
            world.start(path)
            assert not world.ended or world.ended[-1][0] != path
        await world.until_ended(2)

    tell(story)


def test_a_server_that_does_not_answer_is_a_response_with_an_error(tell):
    async def story(world: World) -> None:
        world.start(NOWHERE)
        (response,) = await world.until_ended(1)
        assert response.error is not None
        assert (response.head, response.body) == (b"", b"")

    tell(story)


@pytest.mark.parametrize(("cuts", "error"), [(False, FetchError.TOO_LARGE), (True, None)])
def test_of_a_long_body_the_beginning_is_taken(tell, cuts, error):
    async def story(world: World) -> None:
        world.start("/long", most=30, cuts=cuts)
        (response,) = await world.until_ended(1)
        assert (response.error, response.is_cut) == (error, True)
        assert len(response.body) <= 30

    tell(story)


@pytest.mark.parametrize(("types", "error"), [(("image",), None), (("pdf",), FetchError.UNWANTED_TYPE), (None, None)])
def test_the_body_of_a_type_that_is_not_wanted_is_not_read(tell, types, error):
    async def story(world: World) -> None:
        world.start("/picture", types=types)
        (response,) = await world.until_ended(1)
        assert (response.error, response.is_cut) == (error, error is not None)
        assert response.head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n")
        assert bytes(response.body) == (b"" if error else b"colours")
        world.start("/a", types=types)
        assert (await world.until_ended(2))[1].error is None

    tell(story)


def test_fetches_are_counted_until_they_end_and_each_ends_once(tell):
    async def story(world: World) -> None:
        for path in ("/a", "/b", HELD):
            world.start(path)
        assert len(world.fetcher) == 3
        await world.until_ended(2)
        assert len(world.fetcher) == 1
        world.let_go()
        await world.until_ended(3)
        assert len(world.fetcher) == 0
        assert sorted(path for path, _ in world.ended) == ["/a", "/b", HELD]

    tell(story)


def test_an_aborted_fetch_does_not_report_its_end(tell):
    async def story(world: World) -> None:
        held = world.start(HELD)
        world.start("/a")
        await world.until_ended(1)
        world.fetcher.abort(held)
        assert len(world.fetcher) == 0
        world.let_go()
        world.start("/b")
        await world.until_ended(2)
        assert [path for path, _ in world.ended] == ["/a", "/b"]

    tell(story)


def test_aborting_a_fetch_that_has_ended_harms_no_other(tell):
    async def story(world: World) -> None:
        first = world.start("/a")
        await world.until_ended(1)
        world.start(HELD)
        world.fetcher.abort(first)
        assert len(world.fetcher) == 1
        world.let_go()
        await world.until_ended(2)

    tell(story)


def test_the_next_fetch_may_be_started_when_one_ends(tell):
    async def story(world: World) -> None:
        world.start("/a", then=lambda: world.start("/b"))
        await world.until_ended(2)
        assert [path for path, _ in world.ended] == ["/a", "/b"]

    tell(story)


def test_closing_aborts_everything(tell):
    async def story(world: World) -> None:
        world.start(HELD)
        world.close()
        world.let_go()
        await asyncio.sleep(0)
        assert (len(world.fetcher), world.ended) == (0, [])

    tell(story)

"""A spider that may not open more files: that is no fault of any site, and costs no link anything."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.memory_fetcher import MemoryFetcher
from support.running_spider import SOON, Links, fast_settings, running_spider
from support.spider_process import make_home, start_spider
from support.webservers import ok, web_server
from weft.cli.run_spider import make_fetcher
from weft.mgmt.sqlite import SqliteMgmt
from weft.model.fetch_error import FetchError
from weft.roles.open_files import raise_file_limit, socket_problem
from weft.spider.fetching import PLAIN, FetchId, OnEnd, Request, Response
from weft.spider.serving import OpenFiles, share_open_files


@contextmanager
def no_more_files(pid: int, spare: int = 0) -> Iterator[None]:
    """A process cannot open a file beyond those that it has, and `spare` more."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # Looked at twice: the first look itself has a file open.
    used = {int(file.name) for file in list(Path(f"/proc/{pid}/fd").iterdir()) if file.is_symlink()}
    free = (number for number in range(len(used) + spare + 1) if number not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, ([next(free) for _ in range(spare + 1)][-1], before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("spare", [0, 1])
def test_libcurl_without_a_socket_blames_nobody(tmp_path, spare):
    ended: asyncio.Queue[Response] = asyncio.Queue()

    async def scenario():
        async with web_server() as web:
            fetcher = make_fetcher(fast_settings(), tmp_path, connections=10)
            with no_more_files(os.getpid(), spare):
                assert "Too many open files" in socket_problem()
                request = Request(web.url("/"), "127.0.0.1", (), 0, PLAIN, 1000)
                fetcher.start(request, ended.put_nowait)
                assert (await asyncio.wait_for(ended.get(), SOON)).error is FetchError.NO_SOCKET
            fetcher.start(request, ended.put_nowait)
            assert (await asyncio.wait_for(ended.get(), SOON)).error is None
            fetcher.close()

    asyncio.run(scenario())


class ShortOfSockets(MemoryFetcher):
    """Has no socket for the first fetches."""

    def __init__(self, url: str, fails: int) -> None:
        super().__init__({url: ok(b"at last")})
        self._fails = fails

    def start(self, request: Request, on_end: OnEnd) -> FetchId:
        self._fails -= 1
        without = Response(b"", b"", FetchError.NO_SOCKET)
        return super().start(request, on_end if self._fails < 0 else lambda _: on_end(without))


def test_a_fetch_without_a_socket_is_repeated_and_not_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.spider.gate._LOOK_EVERY", 0.01)

    async def scenario():
        url = "http://a.test/page"
        fetcher = ShortOfSockets(url, fails=3)
        async with running_spider(tmp_path, fetcher=fetcher) as running:
            result = await running.fetch(url)
            assert (result.error, result.status, len(fetcher.requests)) == ("", 200, 4)

    asyncio.run(scenario())


def test_a_process_without_a_free_file_waits_says_so_and_resumes(tmp_path):
    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            spider = await start_spider(home)
            url_server = await spider.connect()
            urls = [web.url(f"/{number}", f"host{number}.test") for number in range(6)]
            ids = links.claim(*urls)
            lines = [f"t{doc_id} {doc_id} 127.0.0.1 {url}" for doc_id, url in zip(ids, urls, strict=True)]
            url_server.ask(lines[0])
            await url_server.until_done(f"t{ids[0]}")
            with no_more_files(spider.process.pid):
                url_server.ask(*lines[1:])
                async with asyncio.timeout(SOON):
                    while b"no more connections can be opened" not in await spider.process.stderr.readline():
                        pass
                # Whoever connects now is not served; that must not make the spider end or turn in circles.
                strangers = [await asyncio.open_connection("127.0.0.1", spider.port) for _ in range(3)]
                assert all(links.is_open(doc_id) for doc_id in ids[1:])
            await url_server.until_done(*(f"t{doc_id}" for doc_id in ids))
            asked = sorted(request.split(b" ")[1] for request in web.requests)
            assert asked == [b"/0", b"/1", b"/2", b"/3", b"/4", b"/5"], "each once"
            for _, writer in strangers:
                writer.close()
            assert (await spider.stop())[0] == 0
            assert {result.error for result in links.results().values()} == {""}
        links.mgmt.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(100_000, (2000, 2000)), (4256, (2000, 2000)), (3256, (2000, 1000)), (300, (44, 1)), (10, (1, 1))],
)
def test_what_settings_ask_for_is_cut_to_what_may_be_opened(limit, expected, caplog):
    assert share_open_files(OpenFiles(2000, 2000), limit) == expected
    assert len(caplog.records) == (expected != (2000, 2000)), "one sentence if it matters"


def test_a_limit_is_raised_as_far_as_needed_and_never_lowered():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    half = before[1] // 2
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (half, before[1]))
        assert raise_file_limit(10) == half
        assert raise_file_limit(half + 5) == half + 5
        assert raise_file_limit(before[1] * 2) == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

"""The spider needs a fetcher, whichever: here one that answers from memory."""

from __future__ import annotations

import asyncio

from support.memory_fetcher import MemoryFetcher
from support.running_spider import running_spider
from support.webservers import ok
from weft.mgmt.values import LinkState

PAGE, GONE, SLOW = "http://a.test/page", "http://a.test/gone", "http://a.test/slow"


def test_what_the_fetcher_brings_is_archived_and_reported(tmp_path):
    async def scenario():
        fetcher = MemoryFetcher({PAGE: ok(b"hello", b"Content-Type: text/html", b'ETag: "1"')})
        async with running_spider(tmp_path, fetcher=fetcher) as running:
            result = await running.fetch(PAGE, ip="192.0.2.7")
            assert (result.status, result.size, result.etag, result.error) == (200, 5, '"1"', "")
            assert running.record(result).body.endswith(b"hello")
            failed = await running.fetch(GONE)
            assert (failed.status, failed.error, failed.position) == (0, "network", None)
            assert [(request.url, request.ip) for request in fetcher.requests] == [
                (PAGE, "192.0.2.7"),
                (GONE, "127.0.0.1"),
            ]
        assert fetcher.is_closed

    asyncio.run(scenario())


def test_a_fetch_that_nobody_waits_for_any_more_is_aborted(tmp_path):
    async def scenario():
        fetcher = MemoryFetcher({SLOW: ok(b"at last")})
        fetcher.held.add(SLOW)
        async with running_spider(tmp_path, fetcher=fetcher) as running:
            (doc_id,) = running.links.claim(SLOW)
            url_server = await running.connect()
            url_server.ask(f"t1 {doc_id} 127.0.0.1 {SLOW}")
            async with asyncio.timeout(10):
                while not len(fetcher):
                    await asyncio.sleep(0.005)
                await url_server.close()
                while len(fetcher):
                    await asyncio.sleep(0.005)
            assert running.links.outcome(doc_id).state is LinkState.CRAWLING, "nothing was reported"

    asyncio.run(scenario())

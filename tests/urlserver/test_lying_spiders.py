"""Spiders that speak for each other, over real sockets: nobody believes them."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from support.raw_spider import RawSpider, all_ended, links, quick_settings, running, until
from weft.mgmt.memory import MemoryMgmt


def test_a_spider_that_says_done_for_another_ones_urls_frees_nothing():
    """The liar answers its own URLs, and at once says DONE for all that the honest one has and is slow with."""

    async def lie(spider, fetch, writer) -> None:
        await spider.answer(fetch, writer)
        writer.write(b"".join(f"{other.trans_id} DONE\n".encode() for other in honest.fetches))
        lies.append(len(honest.fetches))

    async def slowly(spider, fetch, writer) -> None:
        async def late() -> None:
            await asyncio.sleep(0.1)
            await spider.answer(fetch, writer)

        tasks.add(asyncio.create_task(late()))

    tasks: set[asyncio.Task[None]] = set()
    lies: list[int] = []
    mgmt = MemoryMgmt()
    pages = [f"https://h{host}.test/{page}" for host in range(12) for page in range(4)]
    mgmt.add(links(*pages))
    honest, liar = RawSpider(mgmt, slowly), RawSpider(mgmt, lie)

    async def story() -> None:
        await honest.open()
        await liar.open()
        async with running(quick_settings(honest, liar, urlserver__req_host_per_sec=20.0), mgmt):
            await until(all_ended(mgmt))
        await honest.close()
        await liar.close()

    asyncio.run(story())
    assert any(lies), "there was something to lie about"
    assert mgmt.counts().links["crawled"] == len(pages), "nothing counts as lost"
    assert sorted(fetch.url for fetch in honest.pages + liar.pages) == sorted(pages), "each was asked for once"
    for host in range(12):
        prefix = f"https://h{host}.test/"
        seen = zip(honest.times, honest.fetches, strict=True)
        times = [when for when, fetch in seen if fetch.url.startswith(prefix)]
        assert all(after - before > 0.1 for before, after in pairwise(times)), "no URL goes out before the last ended"

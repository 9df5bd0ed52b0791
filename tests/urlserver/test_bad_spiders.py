"""Spiders that stop answering, answer late, answer twice, lie, hang up or are not there, over real sockets."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from support.raw_spider import RawSpider, all_ended, links, quick_settings, running, until
from weft.mgmt.memory import MemoryMgmt

PAGES = [f"https://h{host}.test/{page}" for host in range(4) for page in range(3)]


def test_a_good_spider_gets_every_url_once_robots_first():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider), mgmt):
            await until(all_ended(mgmt))
        await spider.close()
        assert sorted(fetch.url for fetch in spider.pages) == sorted(PAGES)
        assert mgmt.counts().links["crawled"] == len(PAGES)
        for host in range(4):
            asked = [fetch.url for fetch in spider.fetches if f"//h{host}." in fetch.url]
            assert asked == [f"https://h{host}.test/{path}" for path in ("robots.txt", 0, 1, 2)]

    asyncio.run(story())


def test_a_spider_that_stops_answering_about_a_url_is_asked_three_times():
    async def act(spider, fetch, writer) -> None:
        if not fetch.url.endswith("/1"):
            await spider.answer(fetch, writer)

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links("https://a.test/0", "https://a.test/1", "https://a.test/2", "https://b.test/0"))
        spider = await RawSpider(mgmt, act).open()
        settings = quick_settings(spider, urlserver__timeout_spider_status=0.3, spider__working_every=0.1)
        async with running(settings, mgmt):
            await until(all_ended(mgmt))
        await spider.close()
        assert len({fetch.trans_id for fetch in spider.pages if fetch.url.endswith("a.test/1")}) == 3
        assert mgmt.counts().errors == {"timeout": 1}
        assert mgmt.counts().links["crawled"] == 3

    asyncio.run(story())


def test_a_spider_that_only_says_working_is_waited_for():
    async def act(spider, fetch, writer) -> None:
        async def slowly() -> None:
            for _ in range(8):
                await asyncio.sleep(0.1)
                writer.write(f"{fetch.trans_id} WORKING\n".encode())
            await spider.answer(fetch, writer)

        tasks.add(asyncio.create_task(slowly()))

    tasks: set[asyncio.Task[None]] = set()

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links("https://a.test/0"))
        spider = await RawSpider(mgmt, act).open()
        settings = quick_settings(spider, urlserver__timeout_spider_status=0.4, spider__working_every=0.1)
        async with running(settings, mgmt):
            await until(all_ended(mgmt))
        await spider.close()
        assert len(spider.pages) == 1

    asyncio.run(story())


def test_late_answers_and_answers_said_twice_free_nothing():
    """DONE comes after the URL was asked for again, and every DONE comes three times."""

    async def act(spider, fetch, writer) -> None:
        async def late(seconds: float) -> None:
            await asyncio.sleep(seconds)
            spider.store(fetch)
            writer.write(f"{fetch.trans_id} DONE\n".encode() * 3)

        is_first = sum(1 for each in spider.fetches if each.doc_id == fetch.doc_id) == 1
        is_late = is_first and fetch.url.endswith("/0")
        tasks.add(asyncio.create_task(late(0.6 if is_late else 0.0)))

    tasks: set[asyncio.Task[None]] = set()

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt, act).open()
        settings = quick_settings(
            spider, urlserver__timeout_spider_status=0.4, spider__working_every=0.1, urlserver__req_host_per_sec=10.0
        )
        async with running(settings, mgmt):
            await until(all_ended(mgmt))
            await asyncio.sleep(0.3)
        await spider.close()
        assert mgmt.counts().links["crawled"] == len(PAGES)
        for host in range(4):
            times = [
                when
                for when, fetch in zip(spider.times, spider.fetches, strict=True)
                if fetch.url.startswith(f"https://h{host}.")
            ]
            gaps = [after - before for before, after in pairwise(times)]
            assert min(gaps) > 0.09, "a DONE that was said twice let a URL out early"

    asyncio.run(story())


def test_a_spider_that_says_done_without_a_result_loses_the_link_after_three_times():
    async def act(spider, fetch, writer) -> None:
        if fetch.url.endswith("robots.txt"):
            await spider.answer(fetch, writer)
        else:
            writer.write(f"{fetch.trans_id} DONE\n".encode())

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links("https://a.test/0"))
        spider = await RawSpider(mgmt, act).open()
        async with running(quick_settings(spider), mgmt):
            await until(all_ended(mgmt))
        await spider.close()
        assert len(spider.pages) == 3
        assert mgmt.counts().errors == {"lost": 1}

    asyncio.run(story())


def test_a_spider_that_makes_up_trans_ids_and_talks_rubbish_is_hung_up_on():
    async def act(spider, fetch, writer) -> None:
        if spider.connections == 1 and len(spider.fetches) == 3:
            writer.write(b"9.9.9 DONE\n1.0.1 WORKING\n")
            writer.write(b"what a nice day\n")
        else:
            await spider.answer(fetch, writer)

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt, act).open()
        async with running(quick_settings(spider), mgmt):
            await until(all_ended(mgmt))
        await spider.close()
        assert spider.connections == 2
        assert mgmt.counts().links["crawled"] == len(PAGES)

    asyncio.run(story())


def test_after_a_crash_pending_urls_are_asked_again_but_not_those_that_were_stored():
    """The first life stores the page of one host, takes another's, answers neither, and dies."""

    async def act(spider, fetch, writer) -> None:
        if fetch.url.endswith("robots.txt") or spider.connections > 1:
            await spider.answer(fetch, writer)
        elif fetch.url == "https://stored.test/0":
            spider.store(fetch)

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links("https://stored.test/0", "https://stored.test/1", "https://open.test/0"))
        spider = await RawSpider(mgmt, act).open()
        async with running(quick_settings(spider), mgmt):
            await until(lambda: len(spider.pages) == 2)
            await spider.close()
            await asyncio.sleep(0.1)
            await spider.open()
            await until(all_ended(mgmt))
        await spider.close()
        asked = [fetch.url for fetch in spider.pages]
        assert asked.count("https://stored.test/0") == 1
        assert asked.count("https://open.test/0") == 2
        assert mgmt.counts().links["crawled"] == 3

    asyncio.run(story())


def test_without_a_spider_nothing_is_claimed_until_one_comes():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        await spider.close()
        async with running(quick_settings(spider), mgmt) as server:
            await until(lambda: server.tasks and "no spider answers" in server.tasks.snapshot().spiders[0].problem)
            await until(lambda: server.tasks.session.may_send)
            await asyncio.sleep(0.5)
            assert mgmt.counts().links["pending"] == len(PAGES)
            await spider.open()
            await until(all_ended(mgmt))
        await spider.close()

    asyncio.run(story())


def test_a_spider_that_does_not_want_us_costs_no_link_anything():
    """Another token or version: it hangs up at once."""

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        rude, good = await RawSpider(mgmt, greets=False).open(), await RawSpider(mgmt).open()
        async with running(quick_settings(rude, good), mgmt) as server:
            await until(all_ended(mgmt))
            assert "the same spider.token" in server.tasks.snapshot().spiders[0].problem
        await rude.close()
        await good.close()
        assert rude.fetches == []
        assert mgmt.counts().links["crawled"] == len(PAGES)

    asyncio.run(story())


def test_a_spider_that_hangs_up_on_the_first_url_costs_no_link_anything():
    async def act(spider, fetch, writer) -> None:
        if spider.connections <= 3:
            writer.transport.abort()
        else:
            await spider.answer(fetch, writer)

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt, act).open()
        async with running(quick_settings(spider), mgmt):
            await until(all_ended(mgmt))
        await spider.close()
        assert mgmt.counts().links["crawled"] == len(PAGES)

    asyncio.run(story())


def test_with_a_token_hello_comes_first():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links("https://a.test/0"))
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider, spider__token="swordfish"), mgmt):
            await until(all_ended(mgmt))
        await spider.close()
        assert spider.lines[0] == b"HELLO 1 swordfish\n"

    asyncio.run(story())


def test_two_spiders_share_the_work_and_one_takes_over_from_the_other():
    async def story() -> None:
        mgmt = MemoryMgmt()
        pages = [f"https://h{host}.test/{page}" for host in range(20) for page in range(3)]
        mgmt.add(links(*pages))
        first, second = await RawSpider(mgmt).open(), await RawSpider(mgmt).open()
        settings = quick_settings(
            first,
            second,
            urlserver__timeout_spider_status=0.5,
            spider__working_every=0.2,
            urlserver__req_host_per_sec=5.0,
        )
        async with running(settings, mgmt):
            await until(lambda: len(first.pages) > 5 and len(second.pages) > 5)
            await first.close()
            await until(all_ended(mgmt))
        await second.close()
        assert mgmt.counts().links["crawled"] == len(pages)

    asyncio.run(story())

"""URL server and spider while somebody sets the clock: nothing is fetched twice, nothing is held up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.built_world import RULES, LocalReading
from support.jumping_clock import JumpingClock
from support.raw_spider import RawSpider, all_ended, links, quick_settings, running, until
from support.running_spider import Links, running_spider
from support.webservers import web_server
from weft.clock import MonotonicClock
from weft.config import Settings
from weft.home import Home
from weft.index.fetch_reader_pool import ReaderSettings
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import LinkState, NodeState, NodeType
from weft.roles.calls import ControlPlane
from weft.store.memory import MemoryStore

JUMPS = [-86_400, -3_600, 3_600, 86_400]
PAGES = [f"https://h{host}.test/{page}" for host in range(4) for page in range(4)]


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_url_server_crawls_on_whatever_happens_to_the_clock(seconds: int) -> None:
    async def story() -> None:
        clock = JumpingClock()
        mgmt = MemoryMgmt(clock)
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider, urlserver__req_host_per_sec=10.0), mgmt, clock):
            await until(lambda: len(spider.pages) > 3)
            clock.jump(seconds)
            await until(all_ended(mgmt))
            clock.jump(-seconds)
            mgmt.add(links("https://h0.test/new", "https://h9.test/new"))
            await until(all_ended(mgmt))
        await spider.close()
        assert mgmt.counts().links["crawled"] == len(PAGES) + 2
        assert len(spider.pages) == len(PAGES) + 2
        assert [node.state for node in mgmt.nodes()] == [NodeState.OFFLINE]

    asyncio.run(story())


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_url_server_whose_lease_ends_by_a_jump_registers_again(seconds: int) -> None:
    async def story() -> None:
        clock = JumpingClock()
        mgmt = MemoryMgmt(clock)
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider, urlserver__req_host_per_sec=10.0), mgmt, clock):
            await until(lambda: len(spider.pages) > 3)
            clock.jump(seconds)
            mgmt.register(NodeType.SPIDER, "127.0.0.1:9")  # whoever registers takes silent nodes for dead
            await until(all_ended(mgmt))
        await spider.close()
        assert mgmt.counts().links["crawled"] == len(PAGES)

    asyncio.run(story())


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_spider_fetches_and_reports_whatever_happens_to_the_clock(tmp_path: Path, seconds: int) -> None:
    async def story() -> None:
        clock = JumpingClock()
        async with web_server() as web, running_spider(tmp_path, links=Links(MemoryMgmt(clock))) as run:
            run.spider._clock = clock
            await run.fetch(web.url("/before"))
            clock.jump(seconds)
            await run.fetch(web.url("/after"))
            clock.jump(-seconds)
            await run.fetch(web.url("/back"))
            found = [run.links.outcome(run.links.ids[web.url(path)]) for path in ("/before", "/after", "/back")]
            assert {outcome.state for outcome in found} == {LinkState.CRAWLED}

    asyncio.run(story())


def test_an_index_process_measures_its_waits_by_a_clock_that_nobody_sets(tmp_path: Path) -> None:
    from weft.cli.run_index import IndexProcess, make_keeper, make_resources

    mgmt = MemoryMgmt()
    process = IndexProcess(Settings(), Home(tmp_path), mgmt, ControlPlane(mgmt), None, None)
    reading = LocalReading(ReaderSettings.from_settings(Settings(), RULES, tmp_path).reader())
    resources = make_resources(process, make_keeper(process, is_sole=True), MemoryStore(), reading)
    assert isinstance(resources.clock, MonotonicClock)

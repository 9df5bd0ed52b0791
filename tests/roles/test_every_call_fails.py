"""The control plane fails at each call of each role: before the commit, after it, or with the lease gone.

Afterwards all work gets done, and nothing is held by a living process that does not know of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.built_world import SETTINGS, World
from support.failing_mgmt import How, OnceFailingMgmt
from support.raw_spider import RawSpider, all_ended, links, quick_settings, running, until
from support.running_spider import Links, running_spider
from support.webservers import web_server
from weft.clock import MonotonicClock
from weft.config.sections import MgmtSettings
from weft.index.service import IndexResources, IndexService
from weft.mgmt.values import LinkState, NodeState, NodeType
from weft.model.site import Site
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest

LOST = "https://lost.test/"
BUSY = "https://busy.test/"
CLOSED = "https://closed.test/"
PAGES = [f"https://h{host}.test/{page}" for host in range(4) for page in range(3)]
PAGES += [f"{base}{page}" for base in (LOST, BUSY, CLOSED) for page in range(3)]

SOME_WAYS = [How.BEFORE, How.AFTER, How.LEASE]
URLSERVER_CALLS = [
    "register",
    "heartbeat",
    "claim",
    "outcomes",
    "lost",
    "refuse",
    "release",
    "defer",
    "save_rates",
    "rates",
    "seal_finished",
    "open_robots",
    "save_robots",
    "robots",
    "save_addresses",
    "addresses",
    "own_slots",
    "sites",
]


class Web(RawSpider):
    """Says DONE without a result for some links, Retry-After for others, and forbids some by robots.txt."""

    lost = 0

    async def reply(self, fetch: Any, writer: asyncio.StreamWriter) -> None:
        if fetch.url.startswith(LOST) and not fetch.url.endswith("robots.txt") and self.lost < 2:
            self.lost += 1
        elif fetch.url.startswith(BUSY) and not fetch.url.endswith("robots.txt"):
            self.store(fetch, status=503, retry_after=200)
        elif fetch.url == f"{CLOSED}robots.txt":
            self.store(fetch, status=200, body=b"User-agent: *\nDisallow: /")
        else:
            self.store(fetch)
        writer.write(f"{fetch.trans_id} DONE\n".encode())


@pytest.mark.parametrize("how", SOME_WAYS)
@pytest.mark.parametrize("call", URLSERVER_CALLS)
def test_a_url_server_gets_its_work_done(call: str, how: How) -> None:
    async def story() -> None:
        mgmt = OnceFailingMgmt(call, how)
        mgmt.add(links(*PAGES))
        spider = await Web(mgmt, Web.reply).open()  # type: ignore[arg-type]
        # Links of a host that has to wait for longer than its slot does are given back.
        waits = {"urlserver__backoff_first": 0.05, "urlserver__slot_patience": 0.1}
        settings = quick_settings(spider, mgmt__chunk_size=4, **waits)
        mgmt.address = settings.urlserver.listen
        async with running(settings, mgmt):
            await until(all_ended(mgmt), call)
            assert is_at_rest(mgmt)
        await spider.close()
        assert mgmt.failed == 1, f"{call} was never made"
        found = mgmt.counts().links
        assert found["crawled"] + found["error"] == len(PAGES)

    asyncio.run(story())


HANDED_OVER = ["claim", "lost", "refuse", "release", "open_robots", "seal_finished", "own_slots", "heartbeat"]


@pytest.mark.parametrize("call", HANDED_OVER)
def test_what_a_url_server_may_not_hand_over_is_given_back_in_another_way(call: str) -> None:
    test_a_url_server_gets_its_work_done(call, How.REFUSED)


def test_links_whose_claim_was_lost_are_given_back_while_others_are_under_way() -> None:
    """A URL server that always has work must not keep them until it has none."""
    held: list[Any] = []

    async def hold(spider: RawSpider, fetch: Any, writer: asyncio.StreamWriter) -> None:
        if fetch.url.startswith("https://slow.test/") and not fetch.url.endswith("robots.txt"):
            held.append((fetch, writer))
        else:
            await spider.answer(fetch, writer)

    async def story() -> None:
        mgmt = OnceFailingMgmt("claim", How.AFTER)
        mgmt.is_armed = False
        mgmt.add(links("https://slow.test/"))
        spider = await RawSpider(mgmt, hold).open()
        settings = quick_settings(spider)
        async with running(settings, mgmt) as server:
            await until(lambda: held)
            mgmt.is_armed = True
            mgmt.add(links(*PAGES[:12]))
            await until(lambda: mgmt.counts().links["crawled"] == 12)
            assert mgmt.failed == 1
            assert server.tasks is not None
            assert not server.tasks.frontier.is_empty
            spider.store(held[0][0])
            held[0][1].write(f"{held[0][0].trans_id} DONE\n".encode())
            await until(all_ended(mgmt))
        await spider.close()
        assert len(spider.pages) == 13

    asyncio.run(story())


def is_at_rest(mgmt: OnceFailingMgmt) -> bool:
    return all(node.holds == 0 for node in mgmt.nodes())


class IndexRun:
    """An index service over a world whose pages a test fetches by saying what came back."""

    def __init__(self, place: Path, call: str, how: How) -> None:
        self.world = World(place)
        address = "index@test"
        self.world.mgmt = self.mgmt = OnceFailingMgmt(call, how, address, clock=self.world.clock)
        self.mgmt.is_armed = False
        self.mgmt.set_sites([Site(name="*", scope="any")])
        self.world.crawler = self.mgmt.register(NodeType.CRAWLER, "crawler")
        self.world.dispatcher._mgmt = self.mgmt
        control = ControlPlane(self.mgmt)
        keeper = LeaseKeeper(control, NodeType.INDEX_BUILDER, address, MgmtSettings(heartbeat=0.02, lease=10.0))
        self.service = IndexService(
            IndexResources(
                control=control,
                keeper=keeper,
                builder=self.world.builder,
                dispatcher=self.world.dispatcher,
                settings=SETTINGS,
                clock=MonotonicClock(),
                write_status=lambda facts: None,
            )
        )
        self.stop = StopRequest()

    def chunks(self, task: str) -> int:
        return self.mgmt.counts().chunks[task]

    async def until(self, work: asyncio.Task[None], condition: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                assert not work.done(), f"the service ended by itself: {work}"
                await asyncio.sleep(0.005)


@pytest.mark.parametrize("how", How)
@pytest.mark.parametrize("call", ["register", "heartbeat", "take_crawled", "built", "sites", "reopen"])
def test_an_index_process_gets_its_work_done(tmp_path: Path, call: str, how: How) -> None:
    if how is How.REFUSED and call in ("register", "sites"):
        pytest.skip("a node that may not register, or knows no sites, ends with a sentence")

    async def story() -> None:
        run = IndexRun(tmp_path, call, how)
        run.world.fetch("https://a.com/", '<a href="/one">one</a>')
        run.world.fetch("https://b.com/", "<title>b</title>")
        run.mgmt.is_armed = True
        work = asyncio.create_task(run.service.run(run.stop))
        await run.until(work, lambda: run.chunks("built") == 2)
        await run.until(work, lambda: run.mgmt.failed == 1)
        await run.until(work, lambda: run.mgmt.counts().links["pending"] == 1)
        assert run.chunks("building") == 0
        run.world.fetch("https://c.com/", "<title>c</title>")
        await run.until(work, lambda: run.chunks("built") == 3)
        await run.until(work, lambda: run.chunks("building") == 0)
        run.stop.ask("the test is over")
        await asyncio.wait_for(work, 20)

    asyncio.run(story())


@pytest.mark.parametrize("how", SOME_WAYS)
@pytest.mark.parametrize("call", ["register", "heartbeat", "details", "report"])
def test_a_spider_gets_its_work_done(tmp_path: Path, call: str, how: How) -> None:
    async def story() -> None:
        mgmt = OnceFailingMgmt(call, how, "127.0.0.1:7070")
        mgmt.is_armed = False
        known = Links(mgmt)
        mgmt.is_armed = True
        async with web_server() as web, running_spider(tmp_path, links=known) as run:
            for path in ("/one", "/two"):
                await run.fetch(web.url(path))
                assert known.outcome(known.ids[web.url(path)]).state is LinkState.CRAWLED
            await until(lambda: mgmt.failed == 1)
            await until(lambda: is_online(mgmt))
            assert len(web.requests) == 2

    asyncio.run(story())


def is_online(mgmt: OnceFailingMgmt) -> bool:
    (spider,) = [node for node in mgmt.nodes() if node.type is NodeType.SPIDER]
    return spider.state is NodeState.ONLINE


@pytest.mark.parametrize("how", [How.BEFORE, How.AFTER])
def test_leaving_is_told_in_spite_of_a_failure(tmp_path: Path, how: How) -> None:
    async def story() -> None:
        run = IndexRun(tmp_path, "tell", how)
        work = asyncio.create_task(run.service.run(run.stop))
        run.mgmt.is_armed = True
        await asyncio.sleep(0.05)
        run.stop.ask("the test is over")
        await asyncio.wait_for(work, 20)
        assert run.mgmt.failed == 1
        assert {node.state for node in run.mgmt.nodes() if node.type is NodeType.INDEX_BUILDER} == {NodeState.OFFLINE}

    asyncio.run(story())

"""The URL server as it runs: leases, pauses, drains, a control plane that goes away, neighbours, questions."""

from __future__ import annotations

import asyncio
import socket
from itertools import pairwise

import pytest

from support.free_ports import free_port
from support.raw_spider import RawSpider, all_ended, links, quick_settings, running, until
from weft.config import TextTable, host_and_port
from weft.errors import MgmtUnavailable, TransitionRefused
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.model.site import Site, SiteSettings
from weft.roles.listener import open_listener
from weft.urlserver.view.questions import NoUrlServer, ask_host, serve_questions

PAGES = [f"https://h{host}.test/{page}" for host in range(6) for page in range(3)]


def free_address() -> str:
    return f"127.0.0.1:{free_port()}"


def listening(settings) -> socket.socket:
    return open_listener("urlserver.listen", *host_and_port(settings.urlserver.listen), settings.spider.token)


def test_stopping_waits_for_answers_and_gives_the_rest_back():
    async def act(spider, fetch, writer) -> None:
        if fetch.url.endswith("robots.txt"):
            await spider.answer(fetch, writer)
        else:
            held.append((fetch, writer))

    held: list = []

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt, act).open()
        async with running(quick_settings(spider), mgmt):
            await until(lambda: len(held) == 6)
            asyncio.get_running_loop().call_later(0.2, answer_all, spider)
        await spider.close()
        counts = mgmt.counts().links
        assert (counts["crawled"], counts["pending"]) == (6, 12)
        assert [node.state for node in mgmt.nodes()] == [NodeState.OFFLINE]

    def answer_all(spider: RawSpider) -> None:
        for fetch, writer in held:
            spider.store(fetch)
            writer.write(f"{fetch.trans_id} DONE\n".encode())

    asyncio.run(story())


def test_a_url_server_that_is_asked_to_drain_leaves_by_itself():
    async def story() -> None:
        mgmt = MemoryMgmt()
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider), mgmt):
            await until(mgmt.nodes)
            mgmt.ask(mgmt.nodes()[0].id, NodeState.DRAINING)
            await until(lambda: mgmt.nodes()[0].state is NodeState.OFFLINE)
        await spider.close()

    asyncio.run(story())


def test_a_paused_url_server_asks_nobody_and_goes_on_when_it_may():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider, urlserver__req_host_per_sec=4.0), mgmt) as server:
            await until(lambda: len(spider.pages) > 3)
            node = mgmt.nodes()[0].id
            mgmt.ask(node, NodeState.PAUSED)
            await until(lambda: mgmt.nodes()[0].state is NodeState.PAUSED)
            await asyncio.sleep(0.1)
            before = len(spider.fetches)
            await asyncio.sleep(0.6)
            assert len(spider.fetches) == before
            assert server.tasks.snapshot().state == "paused"
            mgmt.ask(node, NodeState.ONLINE)
            await until(all_ended(mgmt))
        await spider.close()
        assert len(spider.pages) == len(PAGES)

    asyncio.run(story())


class FlakyMgmt(MemoryMgmt):
    """Every call but those of the spider fails while it is down."""

    is_down = False

    def _alive(self, lease):
        if self.is_down:
            raise MgmtUnavailable("the database went away")
        return super()._alive(lease)

    def outcomes(self, doc_ids):
        if self.is_down:
            raise MgmtUnavailable("the database went away")
        return super().outcomes(doc_ids)


def test_without_its_control_plane_it_goes_on_with_what_it_has_and_tries_again():
    async def story() -> None:
        mgmt = FlakyMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider, urlserver__req_host_per_sec=4.0), mgmt):
            await until(lambda: len(spider.pages) > 3)
            mgmt.is_down = True
            await asyncio.sleep(0.5)
            mgmt.is_down = False
            await until(all_ended(mgmt))
        await spider.close()
        assert mgmt.counts().links["crawled"] == len(PAGES)
        assert len(spider.pages) == len(PAGES)

    asyncio.run(story())


def test_without_a_sign_of_life_it_stops_asking_before_its_lease_ends():
    async def story() -> None:
        mgmt = FlakyMgmt()
        pages = [f"https://h{host}.test/{page}" for host in range(3) for page in range(40)]
        mgmt.add(links(*pages))
        spider = await RawSpider(mgmt).open()
        settings = quick_settings(spider, urlserver__req_host_per_sec=20.0, mgmt__lease=0.6, mgmt__heartbeat=0.1)
        async with running(settings, mgmt) as server:
            await until(lambda: len(spider.pages) > 3)
            mgmt.is_down = True
            await until(lambda: not server.tasks.session.may_send)
            await asyncio.sleep(0.1)
            before = len(spider.fetches)
            await asyncio.sleep(0.5)
            assert len(spider.fetches) == before
            mgmt.is_down = False
            await until(all_ended(mgmt))
        await spider.close()

    asyncio.run(story())


class StubbornMgmt(MemoryMgmt):
    """Refuses some calls that a URL server can do without for a while."""

    refused: frozenset[str] = frozenset()

    def _refuse(self, call: str) -> None:
        if call in self.refused:
            raise TransitionRefused(f"{call}: refused")

    def claim(self, crawler, limit=5, reject=()):
        self._refuse("claim")
        return super().claim(crawler, limit, reject)

    def seal_finished(self, crawler):
        self._refuse("seal_finished")
        return super().seal_finished(crawler)

    def tell(self, lease, state):
        self._refuse("tell")
        super().tell(lease, state)

    def own_slots(self, crawler):
        self._refuse("own_slots")
        return super().own_slots(crawler)


def test_refused_calls_are_logged_and_nothing_spins(caplog):
    async def story() -> None:
        mgmt = StubbornMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider, urlserver__req_host_per_sec=4.0), mgmt):
            await until(lambda: len(spider.pages) > 3)
            node = mgmt.nodes()[0].id
            mgmt.refused = frozenset({"claim", "seal_finished", "tell", "own_slots"})
            mgmt.ask(node, NodeState.PAUSED)
            await until(lambda: all(f"refused call={call}" in caplog.text for call in ("tell", "own_slots")))
            mgmt.ask(node, NodeState.ONLINE)
            await until(lambda: all(f"refused call={call}" in caplog.text for call in ("claim", "seal_finished")))
            mgmt.refused = frozenset()
            await until(all_ended(mgmt))
        await spider.close()
        assert mgmt.counts().links["crawled"] == len(PAGES)

    asyncio.run(story())


def test_it_can_be_stopped_while_the_control_plane_is_away(monkeypatch):
    monkeypatch.setattr("weft.roles.lease.TELL_SECONDS", 0.2)

    async def story() -> None:
        mgmt = FlakyMgmt()
        spider = await RawSpider(mgmt).open()
        async with running(quick_settings(spider, urlserver__drain=0.2), mgmt) as server:
            await until(lambda: server.tasks and server.tasks.session.may_send)
            mgmt.is_down = True
        await spider.close()
        assert [node.state for node in mgmt.nodes()] == [NodeState.ONLINE], "its lease ends by itself"

    asyncio.run(story())


def test_after_a_lost_lease_it_registers_and_begins_again():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        settings = quick_settings(spider, urlserver__req_host_per_sec=4.0)
        async with running(settings, mgmt) as server:
            await until(lambda: len(spider.pages) > 3)
            tasks = server.tasks
            mgmt.register(NodeType.CRAWLER, settings.urlserver.listen)  # somebody takes our name
            await until(lambda: server.tasks is not tasks)
            await until(all_ended(mgmt))
            counted = server._figures()["sent"]
        await spider.close()
        assert counted == len(spider.fetches), "under both leases"
        assert mgmt.counts().links["crawled"] == len(PAGES)
        assert spider.connections == 2, "the first connection was closed, so that the spider stops what it did"

    asyncio.run(story())


def test_two_url_servers_divide_the_addresses_and_no_host_is_asked_by_both():
    async def story() -> None:
        mgmt = MemoryMgmt()
        names = [f"h{number}.test" for number in range(40)]
        table = TextTable({name: f"127.0.1.{number}" for number, name in enumerate(names)})
        spiders = [await RawSpider(mgmt).open() for _ in range(2)]
        first, second = (
            quick_settings(spider, urlserver__static_hosts=table, urlserver__listen=f"127.0.0.1:{number}")
            for number, spider in enumerate(spiders, 1)
        )
        async with running(first, mgmt) as one, running(second, mgmt) as other:
            await until(lambda: all(_owned(server) == 128 for server in (one, other)))
            mgmt.add(links(*(f"https://{name}/{page}" for name in names for page in range(3))))
            await until(all_ended(mgmt))
        for spider in spiders:
            await spider.close()
        asked = [{fetch.ip for fetch in spider.fetches} for spider in spiders]
        assert not asked[0] & asked[1]
        assert all(asked)
        assert len(spiders[0].pages) + len(spiders[1].pages) == 120

    asyncio.run(story())


def test_a_neighbour_that_comes_and_one_that_dies_leave_every_host_its_gap():
    """Parts change hands twice while hosts are being asked; each host's requests are seen over both spiders."""

    async def story() -> None:
        mgmt_settings = {"mgmt__heartbeat": 0.1, "mgmt__lease": 0.5}
        clock_settings = quick_settings(urlserver__spider_host="127.0.0.1:1", **mgmt_settings).mgmt
        mgmt = MemoryMgmt(settings=clock_settings)
        names = [f"h{number}.test" for number in range(20)]
        table = TextTable({name: f"127.0.1.{number}" for number, name in enumerate(names)})
        mgmt.add(links(*(f"https://{name}/{page}" for page in range(25) for name in names)))
        spiders = [await RawSpider(mgmt).open() for _ in range(2)]
        first, second = (
            quick_settings(
                spider,
                urlserver__static_hosts=table,
                urlserver__listen=f"127.0.0.1:{number}",
                urlserver__req_host_per_sec=10.0,
                **mgmt_settings,
            )
            for number, spider in enumerate(spiders, 1)
        )
        async with running(first, mgmt):
            await until(lambda: len(spiders[0].pages) > 30)
            async with running(second, mgmt) as other:
                await until(lambda: len(spiders[1].pages) > 30)
                other.crash()
                await until(all_ended(mgmt))
        for spider in spiders:
            await spider.close()
        for name in names:
            times = sorted(
                when
                for spider in spiders
                for when, fetch in zip(spider.times, spider.fetches, strict=True)
                if fetch.url.startswith(f"https://{name}/")
            )
            assert min(after - before for before, after in pairwise(times)) > 0.09, name

    asyncio.run(story())


def test_a_part_is_not_given_up_while_a_request_is_under_way_to_it():
    """One URL for every host is held by the first server's spider; the second server waits for its parts."""

    async def act(spider, fetch, writer) -> None:
        if fetch.url.endswith("robots.txt"):
            await spider.answer(fetch, writer)
        else:
            held.append((fetch, writer))

    held: list = []

    async def story() -> None:
        mgmt = MemoryMgmt()
        names = [f"h{number}.test" for number in range(40)]
        table = TextTable({name: f"127.0.1.{number}" for number, name in enumerate(names)})
        mgmt.add(links(*(f"https://{name}/" for name in names)))
        slow, other = await RawSpider(mgmt, act).open(), await RawSpider(mgmt).open()
        first, second = (
            quick_settings(spider, urlserver__static_hosts=table, urlserver__listen=f"127.0.0.1:{number}")
            for number, spider in enumerate((slow, other), 1)
        )
        async with running(first, mgmt):
            await until(lambda: len(held) == 40)
            async with running(second, mgmt) as late:
                await until(lambda: late.tasks and late.tasks.session.may_send)
                await asyncio.sleep(1)
                assert _owned(late) == 0
                for fetch, writer in held:
                    slow.store(fetch)
                    writer.write(f"{fetch.trans_id} DONE\n".encode())
                await until(lambda: _owned(late) == 128)
        await slow.close()
        await other.close()

    asyncio.run(story())


def _owned(server) -> int:
    if server.tasks is None:
        return 0
    addresses = server.tasks.frontier.registry.ips
    return sum(addresses.owns_part(part) for part in range(256))


def test_bad_urls_end_with_their_reason():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(
            links(
                "https://good.test/",
                "https://good.test:8443/",
                "https://10.0.0.1/",
                "https://good.test/ä",
                "https://nowhere.invalid/",
            )
        )
        spider = await RawSpider(mgmt).open()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
            deaf.bind(("127.0.0.1", 0))
            settings = quick_settings(
                spider,
                urlserver__dns_servers=(f"127.0.0.1:{deaf.getsockname()[1]}",),
                urlserver__dns_timeout=0.1,
                urlserver__dns_ttl_min=0.1,
            )
            async with running(settings, mgmt):
                await until(all_ended(mgmt))
        await spider.close()
        assert mgmt.counts().errors == {"port": 1, "private_address": 1, "bad_url": 1, "dns": 1}
        assert mgmt.counts().links["crawled"] == 1

    asyncio.run(story())


def test_a_running_url_server_answers_questions_about_a_host():
    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links(*PAGES))
        spider = await RawSpider(mgmt).open()
        settings = quick_settings(spider, urlserver__req_host_per_sec=0.5, urlserver__listen=free_address())
        with listening(settings) as listener:
            async with running(settings, mgmt) as server:
                answering = await serve_questions(listener, "", server)
                await until(lambda: spider.fetches)
                view = await asyncio.to_thread(ask_host, settings, "h1.test", PAGES[3])
                unknown = await asyncio.to_thread(ask_host, settings, "other.test", "https://other.test/")
                answering.close()
        await spider.close()
        assert view.queue is not None
        assert view.queue.address == "127.0.0.1"
        assert unknown.queue is None

    asyncio.run(story())


def test_who_asks_nobody_is_told_so():
    settings = quick_settings(urlserver__listen=free_address(), urlserver__spider_host="127.0.0.1:1")
    with pytest.raises(NoUrlServer, match="weft run urlserver"):
        ask_host(settings, "a.com", "https://a.com/")


def test_questions_need_the_token():
    async def story() -> None:
        mgmt = MemoryMgmt()
        spider = await RawSpider(mgmt).open()
        changes = {"urlserver__listen": free_address(), "spider__token": "right"}
        settings = quick_settings(spider, **changes)
        with listening(settings) as listener:
            async with running(settings, mgmt) as server:
                answering = await serve_questions(listener, "right", server)
                wrong = quick_settings(spider, **{**changes, "spider__token": "wrong"})
                with pytest.raises(NoUrlServer, match="wrong token"):
                    await asyncio.to_thread(ask_host, wrong, "a.com", "")
                answering.close()
        await spider.close()

    asyncio.run(story())


def test_a_delay_that_a_user_sets_reaches_hosts_that_are_known(monkeypatch):
    for module in ("refill", "site_cache"):
        monkeypatch.setattr(f"weft.urlserver.{module}.SITES_AGE", 20)

    held: list = []

    async def act(spider, fetch, writer) -> None:
        if fetch.url.endswith("robots.txt"):
            await spider.answer(fetch, writer)
        else:
            held.append(fetch)

    async def story() -> None:
        mgmt = MemoryMgmt()
        mgmt.add(links("https://a.test/1"))
        spider = await RawSpider(mgmt, act).open()
        async with running(quick_settings(spider, urlserver__drain=0.1), mgmt) as server:
            await until(lambda: held)
            host = server.tasks.frontier.registry.hosts["a.test"]
            mgmt.set_sites([Site(name="a.test", settings=SiteSettings(delay=3600))])
            await until(lambda: host.delay == 3_600_000)
            mgmt.set_sites([Site(name="a.test")])
            await until(lambda: host.delay == 0)
        await spider.close()

    asyncio.run(story())

"""The spider among others: lines good and bad, duplicates, connections that close, a control plane that is away."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from support.running_spider import SOON, Links, fast_settings, running_spider
from support.webservers import ok, web_server
from weft.errors import MgmtUnavailable
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import LinkState, NodeState, NodeType


class Held:
    """A page that is not answered before it is let go."""

    def __init__(self, web, path: str) -> None:
        self.asked, self.let_go, self.url = asyncio.Event(), asyncio.Event(), web.url(path)
        web.conversations[path] = self._answer

    async def _answer(self, _, writer) -> None:
        self.asked.set()
        await self.let_go.wait()
        writer.write(ok(b"at last"))
        await writer.drain()


class Unreliable(MemoryMgmt):
    """Away for as long as the test says."""

    is_away = False

    def details(self, doc_ids):
        self._be_there()
        return super().details(doc_ids)

    def report(self, results, clock=None):
        self._be_there()
        return super().report(results, clock)

    def _be_there(self):
        if self.is_away:
            raise MgmtUnavailable("control plane: away")


def order_of(running):
    (order,) = running.spider.desk.orders._orders.values()
    return order


def test_many_urls_go_through_one_connection_in_any_order(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            urls = [web.url(f"/{number}", f"h{number % 7}.test") for number in range(200)]
            ids = running.links.claim(*urls)
            url_server = await running.connect()
            url_server.ask(*[f"x{n} {i} 127.0.0.1 {u}" for n, (i, u) in enumerate(zip(ids, urls, strict=True))])
            lines = await url_server.until_done(*[f"x{number}" for number in range(200)])
            assert sorted(lines) == sorted(f"x{number} DONE" for number in range(200))
            for doc_id, url in zip(ids, urls, strict=True):
                assert running.record(running.links.result(doc_id)).url == url

    asyncio.run(scenario())


def test_a_link_that_is_not_being_crawled_is_answered_without_a_fetch(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await running.fetch(web.url("/once"))
            url_server = await running.connect()
            doc_id = running.links.ids[web.url("/once")]
            url_server.ask(f"again {doc_id} 127.0.0.1 {web.url('/once')}", f"none 999 127.0.0.1 {web.url('/x')}")
            await url_server.until_done("again", "none")
            assert len(web.requests) == 1

    asyncio.run(scenario())


def test_a_line_with_another_url_than_the_link_has_is_not_fetched(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            (doc_id,) = running.links.claim(web.url("/right"))
            url_server = await running.connect()
            url_server.ask(f"t {doc_id} 127.0.0.1 {web.url('/wrong')}")
            await url_server.until_done("t")
            assert web.requests == []
            assert running.links.is_open(doc_id)

    asyncio.run(scenario())


def test_a_link_asked_for_twice_is_fetched_once_and_answered_twice(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            held = Held(web, "/held")
            (doc_id,) = running.links.claim(held.url)
            first, second = await running.connect(), await running.connect()
            first.ask(f"a {doc_id} 127.0.0.1 {held.url}")
            await held.asked.wait()
            second.ask(f"b {doc_id} 127.0.0.1 {held.url}", f"c {doc_id} 127.0.0.1 {held.url}")
            while len(order_of(running).askers) < 3:
                await asyncio.sleep(0.01)
            await first.close()
            held.let_go.set()
            assert sorted(await second.until_done("b", "c")) == ["b DONE", "c DONE"]
            assert len(web.requests) == 1

    asyncio.run(scenario())


def test_working_is_said_while_a_fetch_goes_on(tmp_path):
    async def scenario():
        settings = fast_settings(spider__working_every=0.05)
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            held = Held(web, "/held")
            (doc_id,) = running.links.claim(held.url)
            url_server = await running.connect()
            url_server.ask(f"w {doc_id} 127.0.0.1 {held.url}")
            while url_server.lines.count("w WORKING") < 3:
                url_server.lines.append((await url_server.reader.readline()).decode().strip())
            held.let_go.set()
            lines = await url_server.until_done("w")
            assert set(lines) == {"w WORKING", "w DONE"}

    asyncio.run(scenario())


def test_a_closed_connection_aborts_its_fetches_and_nothing_is_reported(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            held = Held(web, "/held")
            (doc_id,) = running.links.claim(held.url)
            url_server = await running.connect()
            url_server.ask(f"t {doc_id} 127.0.0.1 {held.url}")
            await held.asked.wait()
            await url_server.close()
            while len(running.spider.desk.orders):
                await asyncio.sleep(0.01)
            assert len(running.spider._fetcher) == 0
            held.let_go.set()
            assert running.links.is_open(doc_id)
            other = await running.connect()
            other.ask(f"u {doc_id} 127.0.0.1 {held.url}")
            await other.until_done("u")
            assert running.links.outcome(doc_id).state is LinkState.CRAWLED

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "line",
    [
        b"hello\n",
        b"t 1 127.0.0.1 ftp://a.test/\n",
        b"t 1 localhost http://a.test/\n",
        b"t 1 127.0.0.1 http://a.test/\r\n",
        b"t 1 127.0.0.1 http://a.test/\x00\n",
        b"t -1 127.0.0.1 http://a.test/\n",
        b"x" * 17_000 + b"\n",
        b"x" * 17_000,
        b"HELLO 1 token\n",
        b"POST /records HTTP/1.1\r\n",
    ],
    ids=lambda line: repr(line[:30]),
)
def test_a_wrong_line_closes_the_connection_and_the_reason_is_logged(tmp_path, caplog, line):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            url_server = await running.connect()
            url_server.writer.write(line)
            assert await url_server.until_closed() == []
            assert "connection closed" in caplog.text
            assert (await running.fetch(web.url("/"))).status == 200

    asyncio.run(scenario())


def test_lines_before_a_wrong_one_are_not_fetched_for_a_connection_that_is_gone(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            (doc_id,) = running.links.claim(web.url("/"))
            url_server = await running.connect()
            url_server.ask(f"t {doc_id} 127.0.0.1 {web.url('/')}", "rubbish")
            await url_server.until_closed()
            while len(running.spider.desk.orders):
                await asyncio.sleep(0.01)
            assert running.links.is_open(doc_id)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("greeting", "is_let_in"),
    [
        ("HELLO 1 s3cret", True),
        ("HELLO 1 wrong", False),
        ("HELLO 2 s3cret", False),
        ("HELO 1 s3cret", False),
        ("HELLO 1 s3cret too much", False),
        ("", False),
    ],
)
def test_with_a_token_the_first_line_must_show_it(tmp_path, caplog, greeting, is_let_in):
    async def scenario():
        settings = fast_settings(spider__token="s3cret")
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            (doc_id,) = running.links.claim(web.url("/"))
            url_server = await running.connect()
            url_server.ask(*([greeting] if greeting else []), f"t {doc_id} 127.0.0.1 {web.url('/')}")
            if is_let_in:
                await url_server.until_done("t")
            else:
                assert await url_server.until_closed() == []
                assert "connection closed" in caplog.text
                assert "s3cret" not in caplog.text
            assert len(web.requests) == is_let_in

    asyncio.run(scenario())


def test_nothing_is_answered_while_the_control_plane_is_away_and_nothing_is_lost(tmp_path):
    async def scenario():
        mgmt = Unreliable()
        settings = fast_settings(spider__working_every=0.02)
        async with web_server() as web, running_spider(tmp_path, settings, Links(mgmt)) as running:
            held = Held(web, "/held")
            ids = running.links.claim(held.url, web.url("/later"))
            url_server = await running.connect()
            url_server.ask(f"a {ids[0]} 127.0.0.1 {held.url}")
            await held.asked.wait()
            mgmt.is_away = True
            held.let_go.set()
            url_server.ask(f"b {ids[1]} 127.0.0.1 {web.url('/later')}")
            while url_server.lines.count("b WORKING") < 3:
                url_server.lines.append((await url_server.reader.readline()).decode().strip())
            assert "a DONE" not in url_server.lines
            assert len(web.requests) == 1, "without details nothing is fetched"
            mgmt.is_away = False
            await url_server.until_done("a", "b")
            assert running.record(running.links.result(ids[0])).body == b"at last"

    asyncio.run(scenario())


class Silent(MemoryMgmt):
    """Answers no heartbeat for as long as the test says."""

    is_silent = True
    asked = 0

    def details(self, doc_ids):
        self.asked += 1
        return super().details(doc_ids)

    def heartbeat(self, lease, told=None):
        if self.is_silent:
            raise MgmtUnavailable("control plane: away")
        return super().heartbeat(lease, told)


def test_nothing_is_fetched_before_it_is_known_whether_the_spider_is_paused(tmp_path):
    async def scenario():
        mgmt = Silent()
        settings = fast_settings(spider__working_every=0.02)
        async with web_server() as web, running_spider(tmp_path, settings, Links(mgmt)) as running:
            (doc_id,) = running.links.claim(web.url("/"))
            url_server = await running.connect()
            url_server.ask(f"t {doc_id} 127.0.0.1 {web.url('/')}")
            while url_server.lines.count("t WORKING") < 3:
                url_server.lines.append((await url_server.reader.readline()).decode().strip())
            assert (mgmt.asked, web.requests) == (0, [])
            mgmt.is_silent = False
            await url_server.until_done("t")
            assert len(web.requests) == 1

    asyncio.run(scenario())


class Picky(MemoryMgmt):
    """Cannot take one of the results, nor say why."""

    refused = -1

    def report(self, results, clock=None):
        if any(result.doc_id == self.refused for result in results):
            raise ValueError("a driver's own error")
        return super().report(results, clock)


def test_a_result_that_cannot_be_stored_holds_up_no_other(tmp_path, caplog):
    async def scenario():
        links = Links(Picky())
        async with web_server() as web, running_spider(tmp_path, None, links) as running:
            urls = [web.url(f"/{number}") for number in range(10)]
            ids = links.claim(*urls)
            links.mgmt.refused = ids[4]
            url_server = await running.connect()
            url_server.ask(*[f"t{i} {i} 127.0.0.1 {url}" for i, url in zip(ids, urls, strict=True)])
            await url_server.until_done(*[f"t{doc_id}" for doc_id in ids])
            assert [doc_id for doc_id in ids if links.is_open(doc_id)] == [ids[4]]
            assert f"result refused doc_id={ids[4]}" in caplog.text

    asyncio.run(scenario())


class Faulty(MemoryMgmt):
    """Fails once, with an error that nobody expects."""

    has_failed = False

    def details(self, doc_ids):
        if not self.has_failed:
            self.has_failed = True
            raise ValueError("a driver's own error")
        return super().details(doc_ids)


def test_an_unexpected_error_of_the_control_plane_is_survived(tmp_path, caplog):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path, None, Links(Faulty())) as running:
            assert (await running.fetch(web.url("/"))).status == 200
            assert "details of 1 links cannot be had" in caplog.text

    asyncio.run(scenario())


def test_no_more_lines_are_read_than_may_be_unanswered(tmp_path):
    async def scenario():
        mgmt = Unreliable()
        mgmt.is_away = True
        settings = fast_settings(spider__unanswered=100)
        async with running_spider(tmp_path, settings, Links(mgmt)) as running:
            url_server = await running.connect()
            url_server.ask(*[f"t{number} {number} 127.0.0.1 http://a.test/" for number in range(30_000)])
            while len(running.spider.desk.orders) < 100:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            # What one reading of the socket gives may be more than the limit.
            assert len(running.spider.desk.orders) < 10_000
            mgmt.is_away = False
            await url_server.until_done(*[f"t{number}" for number in (0, 15_000, 29_999)])

    asyncio.run(scenario())


def test_a_pause_stops_fetching_until_it_is_over_and_states_are_told(tmp_path):
    async def scenario():
        settings = fast_settings(mgmt__heartbeat=0.1, mgmt__lease=10.0)
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            mgmt = running.links.mgmt
            (spider,) = [node for node in mgmt.nodes() if node.type is NodeType.SPIDER]

            def state() -> NodeState:
                return next(node.state for node in mgmt.nodes() if node.type is NodeType.SPIDER)

            mgmt.ask(spider.id, NodeState.PAUSED)
            while running.spider._gate.is_open:
                await asyncio.sleep(0.01)
            (doc_id,) = running.links.claim(web.url("/"))
            url_server = await running.connect()
            url_server.ask(f"t {doc_id} 127.0.0.1 {web.url('/')}")
            await asyncio.sleep(0.1)
            assert web.requests == []
            assert state() is NodeState.PAUSED
            mgmt.ask(spider.id, NodeState.ONLINE)
            await url_server.until_done("t")
            assert state() is NodeState.ONLINE
            await running.spider.drain()
            assert state() is NodeState.DRAINING

    asyncio.run(scenario())


def test_an_archive_that_was_removed_is_told_until_it_is_back(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await running.fetch(web.url("/before"))
            directory = running.spider.resources.archive.path
            shutil.rmtree(directory)
            async with asyncio.timeout(SOON):
                while not running.spider.figures()["closed"]:
                    await asyncio.sleep(0.01)
            assert running.spider.figures()["free"] == 0
            assert str(directory) in running.spider.figures()["closed"][0]
            directory.mkdir()
            async with asyncio.timeout(SOON):
                while running.spider.figures()["closed"]:
                    await asyncio.sleep(0.01)
            result = await running.fetch(web.url("/after"))
            assert running.record(result).url == web.url("/after")

    asyncio.run(scenario())


def test_a_spider_whose_lease_was_lost_registers_again(tmp_path):
    async def scenario():
        settings = fast_settings(mgmt__heartbeat=0.1, mgmt__lease=10.0)
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            mgmt = running.links.mgmt
            mgmt.register(NodeType.SPIDER, "127.0.0.1:7070")
            (before,) = [node.epoch for node in mgmt.nodes() if node.type is NodeType.SPIDER]
            while [node.epoch for node in mgmt.nodes() if node.type is NodeType.SPIDER] == [before]:
                await asyncio.sleep(0.01)
            assert (await running.fetch(web.url("/"))).status == 200

    asyncio.run(scenario())


def test_draining_finishes_what_was_begun_and_begins_nothing(tmp_path):
    async def scenario():
        settings = fast_settings(spider__concurrent=1)
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            held = Held(web, "/held")
            ids = running.links.claim(held.url, web.url("/waiting"))
            url_server = await running.connect()
            url_server.ask(f"a {ids[0]} 127.0.0.1 {held.url}", f"b {ids[1]} 127.0.0.1 {web.url('/waiting')}")
            await held.asked.wait()
            draining = asyncio.ensure_future(running.spider.drain())
            await asyncio.sleep(0.05)
            assert not draining.done()
            held.let_go.set()
            await asyncio.wait_for(draining, 10)
            await url_server.until_done("a")
            assert not running.links.is_open(ids[0])
            assert running.links.is_open(ids[1]), "given back by closing the connection, not fetched"
            assert len(web.requests) == 1

    asyncio.run(scenario())

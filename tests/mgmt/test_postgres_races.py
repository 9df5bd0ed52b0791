"""Two transactions in the one order that could do harm: each is held still at the dangerous moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import pytest

from support.mgmt_audit import audit
from weft.config.sections import MgmtSettings
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sql import chunks, claims, nodes, results, slots
from weft.mgmt.sql.counters import CounterChanges
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.values import BuildChunk, ClaimedLink, Lease, NewLink, NodeAbout, NodeType, Result, WarcPosition


class HeldStill:
    """A transaction that waits before the first query that contains `text`, until it is let go."""

    def __init__(self, text: str = "nothing that is asked") -> None:
        self._text = text
        self.is_there, self.may_go = threading.Event(), threading.Event()

    def around(self, tx: Transaction) -> Transaction:
        self._tx = tx
        return self  # type: ignore[return-value]

    def _pass(self, sql: str) -> None:
        if self._text in sql:
            self.wait()

    def wait(self, _: object = None) -> None:
        self.is_there.set()
        assert self.may_go.wait(30)

    def rows(self, sql: str, **values: object) -> list[Row]:
        self._pass(sql)
        return self._tx.rows(sql, **values)

    def each(self, sql: str, columns: str, given: Sequence[Sequence[object]]) -> list[Row]:
        self._pass(sql)
        return self._tx.each(sql, columns, given)

    def run(self, sql: str, **values: object) -> int:
        self._pass(sql)
        return self._tx.run(sql, **values)

    def __getattr__(self, name: str) -> object:
        return getattr(self._tx, name)


@pytest.fixture
def planes(postgres_url: str) -> Iterator[list[PostgresMgmt]]:
    opened = [PostgresMgmt(postgres_url) for _ in range(3)]
    opened[0].add([NewLink(f"h{n}/", f"https://h{n}/", f"h{n}") for n in range(3)])
    yield opened
    for mgmt in opened:
        mgmt.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def counted(mgmt: PostgresMgmt, held: HeldStill, work: Callable[[Transaction, CounterChanges], object]) -> Any:
    """As SqlMgmt does a call that changes links, held still."""

    def whole(tx: Transaction) -> object:
        counters = CounterChanges()
        answer = work(held.around(tx), counters)
        counters.write(tx)
        return answer

    return mgmt._database.write(whole)


def archived(link: ClaimedLink) -> Result:
    return Result(doc_id=link.doc_id, claim=link.claim, status=200, position=WarcPosition("s:1", "f", 0, 1))


def both(held: HeldStill, first: Future[Any], second: Future[Any]) -> None:
    """The second gets a while to do what it can; then the first goes on."""
    wait([second], timeout=0.5)
    held.may_go.set()
    first.result(30)
    second.result(30)


def test_a_lease_does_not_end_in_the_middle_of_a_claim(planes: list[PostgresMgmt], threads: ThreadPoolExecutor) -> None:
    one, other, _ = planes
    crawler: Lease = one.register(NodeType.CRAWLER, "c:1")
    held = HeldStill("FROM slot")  # right after the lease was seen to hold
    claim = threads.submit(counted, one, held, lambda tx, counters: claims.claim(tx, counters, crawler, 3, ()))
    assert held.is_there.wait(30)
    both(held, claim, threads.submit(other.register, NodeType.CRAWLER, "c:1"))
    assert one.counts().links["pending"] == 3, "what the ended epoch had claimed is free"
    audit(one)


def test_a_lease_does_not_end_while_a_replacement_is_chosen(
    planes: list[PostgresMgmt], threads: ThreadPoolExecutor
) -> None:
    one, other, _ = planes
    crawler = one.register(NodeType.CRAWLER, "c:1")
    chunk = one.claim(crawler, 1)
    assert chunk is not None
    error = Result(doc_id=chunk.links[0].doc_id, claim=1, error="network")
    held = HeldStill("FROM slot")
    report = threads.submit(counted, one, held, lambda tx, counters: results.report(tx, counters, [error]))
    assert held.is_there.wait(30)
    both(held, report, threads.submit(other.register, NodeType.CRAWLER, "c:1"))
    assert one.counts().links == {"pending": 2, "crawling": 0, "crawled": 0, "error": 1}
    audit(one)


def test_a_chunk_is_not_sealed_while_its_finished_links_are_taken_out(
    planes: list[PostgresMgmt], threads: ThreadPoolExecutor
) -> None:
    one, other, third = planes
    crawler, builder = one.register(NodeType.CRAWLER, "c:1"), one.register(NodeType.INDEX_BUILDER, "b:1")
    chunk = one.claim(crawler, 2)
    assert chunk is not None
    one.report([archived(chunk.links[0])])
    held = HeldStill("state <> 'crawling'")
    seal = threads.submit(counted, one, held, lambda tx, counters: chunks.seal_finished(tx, counters, crawler))
    assert held.is_there.wait(30)
    last = threads.submit(other.report, [archived(chunk.links[1])])
    wait([last], timeout=0.5)
    taken = third.take_crawled(builder)
    both(held, seal, last)
    taken += third.take_crawled(builder)
    assert sorted(link.doc_id for one in taken for link in one.links) == [1, 2], "each link is built once"
    audit(one)


def test_two_spiders_cannot_both_end_a_link(planes: list[PostgresMgmt], threads: ThreadPoolExecutor) -> None:
    one, other, _ = planes
    crawler = one.register(NodeType.CRAWLER, "c:1")
    chunk = one.claim(crawler, 3)
    assert chunk is not None
    result, rival = archived(chunk.links[0]), Result(doc_id=chunk.links[0].doc_id, claim=1, error="tls")
    held = HeldStill("FROM crawler WHERE chunk_id")  # the link was seen to be crawling
    first = threads.submit(counted, one, held, lambda tx, counters: results.report(tx, counters, [result]))
    assert held.is_there.wait(30)
    second = threads.submit(partial(other.report, [rival]))
    both(held, first, second)
    assert sorted([first.result(), second.result()]) == [[False], [True]]
    audit(one)


def taken_chunk(mgmt: PostgresMgmt) -> tuple[Lease, BuildChunk]:
    crawler, builder = mgmt.register(NodeType.CRAWLER, "c:1"), mgmt.register(NodeType.INDEX_BUILDER, "b:1")
    chunk = mgmt.claim(crawler, 3)
    assert chunk is not None
    mgmt.report([archived(link) for link in chunk.links])
    (taken,) = mgmt.take_crawled(builder)
    return builder, taken


def test_a_server_that_registers_while_a_chunk_is_built_gets_it(
    planes: list[PostgresMgmt], threads: ThreadPoolExecutor
) -> None:
    one, other, _ = planes
    builder, taken = taken_chunk(one)
    held = HeldStill()

    def report(tx: Transaction, counters: CounterChanges) -> None:
        chunks.built(tx, counters, builder, taken.id, taken.attempt, 1)
        held.wait()  # it is placed, and nobody else knows

    built = threads.submit(counted, one, held, report)
    assert held.is_there.wait(30)
    both(held, built, threads.submit(other.register, NodeType.INDEX_SERVER, "s:1", 1))
    assert len(one.table("index_server")) == 1
    audit(one)


def test_a_chunk_that_is_built_while_a_server_registers_is_placed_on_it(
    planes: list[PostgresMgmt], threads: ThreadPoolExecutor
) -> None:
    one, other, _ = planes
    builder, taken = taken_chunk(one)
    held = HeldStill()
    server = (NodeType.INDEX_SERVER, "s:1", 1, NodeAbout(), MgmtSettings(), held.wait)
    registered = threads.submit(counted, one, held, lambda tx, counters: nodes.register(tx, counters, *server))
    assert held.is_there.wait(30)
    both(held, registered, threads.submit(other.built, builder, taken.id, taken.attempt, 1))
    assert len(one.table("index_server")) == 1
    audit(one)


def test_two_servers_that_ask_for_their_shards_at_once_get_different_ones(
    planes: list[PostgresMgmt], threads: ThreadPoolExecutor
) -> None:
    one, other, _ = planes
    first, second = [one.register(NodeType.INDEX_SERVER, f"s:{n}", 1) for n in range(2)]
    held = HeldStill("UPDATE slot")
    mine = threads.submit(counted, one, held, lambda tx, _: slots.own_shards(tx, first, 5))
    assert held.is_there.wait(30)
    theirs = threads.submit(other.own_shards, second, 5)
    both(held, mine, theirs)
    assert (len(mine.result()), len(theirs.result())) == (3, 2)
    assert mine.result() | theirs.result() == frozenset(range(5))
    audit(one)

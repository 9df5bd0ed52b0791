"""What every control plane promises to nodes on several machines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from support.mgmt_engines import START, Engine
from weft.errors import LeaseLost, NodeRefused
from weft.mgmt.api import Mgmt
from weft.mgmt.rules.chunks import LONGEST_RECORDS_WAIT
from weft.mgmt.rules.leases import FIGURES_MOST
from weft.mgmt.values import (
    BuildChunk,
    Lease,
    NewLink,
    Node,
    NodeAbout,
    NodeState,
    NodeTold,
    NodeType,
    Result,
    StoreOwner,
    WarcPosition,
)

A, B = NodeAbout(machine="a", token="one"), NodeAbout(machine="b", token="one")
SPIDER = "10.0.0.2:7070"


@pytest.fixture
def builder(mgmt: Mgmt) -> Lease:
    return mgmt.register(NodeType.INDEX_BUILDER, "index@a:/home", about=A)


def crawled(mgmt: Mgmt, number: int = 1, ended: int = START) -> None:
    """A chunk of one link, archived on a spider."""
    crawler = mgmt.register(NodeType.CRAWLER, "10.0.0.1:7069")
    mgmt.add([NewLink(f"h/{number}", f"https://h/{number}", "h")])
    chunk = mgmt.claim(crawler, 1)
    assert chunk is not None
    place = WarcPosition(SPIDER, "a.warc.gz", number, 500)
    (link,) = chunk.links
    result = Result(doc_id=link.doc_id, claim=link.claim, status=200, position=place, started=ended - 5, ended=ended)
    assert mgmt.report([result]) == [True]


def taken(mgmt: Mgmt, builder: Lease) -> BuildChunk:
    (chunk,) = mgmt.take_crawled(builder)
    return chunk


def node_at(mgmt: Mgmt, address: str) -> Node:
    (found,) = [node for node in mgmt.nodes() if node.address == address]
    return found


# Chunks whose records cannot be reached.


def test_a_chunk_that_waits_for_records_is_offered_again_after_its_wait(
    engine: Engine, mgmt: Mgmt, builder: Lease
) -> None:
    crawled(mgmt)
    chunk = taken(mgmt, builder)
    assert chunk.waited == 0
    assert mgmt.wait_for_records(builder, chunk.id, chunk.attempt, SPIDER, 5000)
    assert mgmt.counts().chunks["waiting"] == 1
    engine.clock.advance(4)
    assert not mgmt.take_crawled(builder)
    engine.clock.advance(2)
    again = taken(mgmt, builder)
    assert (again.id, again.waited, mgmt.counts().chunks["waiting"]) == (chunk.id, 6000, 0)
    assert again.attempt == chunk.attempt + 1


def test_waiting_counts_neither_as_error_nor_as_loss_however_often(engine: Engine, mgmt: Mgmt, builder: Lease) -> None:
    crawled(mgmt)
    for number in range(20):
        chunk = taken(mgmt, builder)
        assert chunk.waited == number * 1000
        assert mgmt.wait_for_records(builder, chunk.id, chunk.attempt, SPIDER, 1000)
        engine.clock.advance(1)
        mgmt.heartbeat(builder)
    chunk = taken(mgmt, builder)
    assert mgmt.built(builder, chunk.id, chunk.attempt, 1)
    assert (mgmt.counts().chunks["built"], mgmt.counts().chunks["error"]) == (1, 0)


def test_chunks_are_offered_at_once_when_their_node_is_back(mgmt: Mgmt, builder: Lease) -> None:
    crawled(mgmt)
    chunk = taken(mgmt, builder)
    mgmt.wait_for_records(builder, chunk.id, chunk.attempt, SPIDER, 60_000)
    assert mgmt.records_back(builder, "10.0.0.9:7070") == 0
    assert not mgmt.take_crawled(builder)
    assert mgmt.records_back(builder, SPIDER) == 1
    assert mgmt.records_back(builder, SPIDER) == 0
    (again,) = mgmt.take_crawled(builder)
    assert mgmt.wait_for_records(builder, again.id, again.attempt, SPIDER, 100_000)
    assert mgmt.records_back(builder) == 1, "whatever they wait for"
    assert taken(mgmt, builder).id == chunk.id


def test_only_the_attempt_that_has_a_chunk_may_put_it_aside(mgmt: Mgmt, builder: Lease) -> None:
    crawled(mgmt)
    chunk = taken(mgmt, builder)
    assert not mgmt.wait_for_records(builder, chunk.id, chunk.attempt + 1, SPIDER, 1000)
    assert mgmt.wait_for_records(builder, chunk.id, chunk.attempt, SPIDER, 1000)
    assert mgmt.wait_for_records(builder, chunk.id, chunk.attempt, SPIDER, 1000), "a repeated call"
    assert not mgmt.built(builder, chunk.id, chunk.attempt, 1)
    with pytest.raises(LeaseLost):
        mgmt.wait_for_records(replace(builder, epoch=99), chunk.id, chunk.attempt, SPIDER, 1000)
    with pytest.raises(LeaseLost):
        mgmt.records_back(replace(builder, epoch=99), SPIDER)


def test_a_waiting_chunk_outlives_its_builder(engine: Engine, mgmt: Mgmt, builder: Lease) -> None:
    crawled(mgmt)
    chunk = taken(mgmt, builder)
    mgmt.wait_for_records(builder, chunk.id, chunk.attempt, SPIDER, 60_000)
    next_builder = mgmt.register(NodeType.INDEX_BUILDER, "index@a:/home", about=A)
    assert not mgmt.take_crawled(next_builder)
    engine.clock.advance(61)
    assert taken(mgmt, next_builder).waited == 61_000


def test_a_clock_that_is_set_back_does_not_lengthen_the_wait(engine: Engine, mgmt: Mgmt, builder: Lease) -> None:
    crawled(mgmt)
    chunk = taken(mgmt, builder)
    mgmt.wait_for_records(builder, chunk.id, chunk.attempt, SPIDER, 10 * LONGEST_RECORDS_WAIT)
    engine.clock.advance(-90_000)
    assert taken(mgmt, mgmt.register(NodeType.INDEX_BUILDER, "index@a:/home")).waited == 0


# One clock.


def test_a_result_ends_when_it_is_reported_at_the_latest(engine: Engine, mgmt: Mgmt, builder: Lease) -> None:
    crawled(mgmt, ended=START + 3_600_000)
    result = taken(mgmt, builder).links[0].result
    assert (result.started, result.ended) == (START - 5, START)
    engine.clock.advance(60)
    again = replace(result, started=START + 3_599_995, ended=START + 3_600_000)
    assert mgmt.report([again]) == [True], "the same record, reported again"
    assert mgmt.outcomes([result.doc_id])[result.doc_id].ended == START


def test_a_result_of_a_clock_that_is_behind_is_kept_as_it_is(mgmt: Mgmt, builder: Lease) -> None:
    crawled(mgmt, ended=START - 3_600_000)
    assert taken(mgmt, builder).links[0].result.ended == START - 3_600_000


# What nodes tell.


def test_a_node_tells_its_machine_its_clock_and_its_figures(mgmt: Mgmt) -> None:
    lease = mgmt.register(NodeType.SPIDER, SPIDER, about=replace(A, version="0.2.0"))
    found = node_at(mgmt, SPIDER)
    assert (found.machine, found.version, found.skew, found.figures) == ("a", "0.2.0", None, {})
    mgmt.heartbeat(lease, NodeTold(clock=START - 61_000, figures={"fetching": 3}))
    mgmt.heartbeat(lease)
    found = node_at(mgmt, SPIDER)
    assert (found.skew, found.figures) == (-61_000, {"fetching": 3}), "what is not told stays"
    mgmt.register(NodeType.SPIDER, SPIDER, about=A)
    assert (node_at(mgmt, SPIDER).skew, node_at(mgmt, SPIDER).figures) == (None, {})


def test_figures_are_bounded(mgmt: Mgmt) -> None:
    lease = mgmt.register(NodeType.SPIDER, SPIDER, about=A)
    mgmt.heartbeat(lease, NodeTold(figures={"text": "x" * FIGURES_MOST}))
    assert node_at(mgmt, SPIDER).figures == {}


# Who may register.


def test_an_address_belongs_to_one_machine_while_its_node_lives(engine: Engine, mgmt: Mgmt) -> None:
    mgmt.register(NodeType.SPIDER, SPIDER, about=A)
    with pytest.raises(NodeRefused, match=r"machine a .* has this address; .* machine b another \(spider.listen"):
        mgmt.register(NodeType.SPIDER, SPIDER, about=B)
    assert mgmt.register(NodeType.SPIDER, SPIDER, about=A).epoch == 3, "its own machine takes it over at once"
    engine.clock.advance(46)
    assert mgmt.register(NodeType.SPIDER, SPIDER, about=B)


def test_an_embedded_index_is_the_only_one(engine: Engine, mgmt: Mgmt) -> None:
    sole = replace(A, is_sole=True)
    mgmt.register(NodeType.INDEX_BUILDER, "index@a:/one", about=sole)
    for about in (sole, replace(sole, machine="b")):
        with pytest.raises(NodeRefused, match="one control plane has one index, and index@a:/one on machine a"):
            mgmt.register(NodeType.INDEX_BUILDER, "index@a:/two", about=about)
    assert mgmt.register(NodeType.INDEX_BUILDER, "index@a:/one", about=sole)
    engine.clock.advance(46)
    assert mgmt.register(NodeType.INDEX_BUILDER, "index@b:/two", about=replace(sole, machine="b"))


def test_tokens_must_be_equal_between_machines(mgmt: Mgmt) -> None:
    mgmt.register(NodeType.CRAWLER, "127.0.0.1:7069", about=replace(A, token="of a run that was killed"))
    assert mgmt.register(NodeType.SPIDER, SPIDER, about=A), "the next run on the same machine"
    mgmt.tell(mgmt.register(NodeType.CRAWLER, "127.0.0.1:7069", about=A), NodeState.OFFLINE)
    other = replace(B, token="two")
    with pytest.raises(
        NodeRefused, match=r"10.0.0.3:7069 on machine b: its token differs .*10.0.0.2:7070.*spider.token"
    ):
        mgmt.register(NodeType.CRAWLER, "10.0.0.3:7069", about=other)
    assert mgmt.register(NodeType.CRAWLER, "10.0.0.3:7069", about=B)


def test_a_spider_must_be_where_the_index_can_read_its_records(mgmt: Mgmt) -> None:
    mgmt.register(NodeType.INDEX_BUILDER, "index@a:/home", about=A)
    with pytest.raises(NodeRefused, match=r"spider 127.0.0.1:7070: .*another machine cannot.*spider.listen"):
        mgmt.register(NodeType.SPIDER, "127.0.0.1:7070", about=B)
    assert mgmt.register(NodeType.SPIDER, "127.0.0.1:7070", about=A)


def test_an_index_is_refused_while_a_spider_elsewhere_has_an_address_of_its_own_machine(mgmt: Mgmt) -> None:
    mgmt.register(NodeType.SPIDER, "127.0.0.1:7070", about=B)
    with pytest.raises(NodeRefused, match=r"spider 127.0.0.1:7070"):
        mgmt.register(NodeType.INDEX_BUILDER, "index@a:/home", about=A)


def test_a_refused_node_changes_nothing(mgmt: Mgmt) -> None:
    lease = mgmt.register(NodeType.SPIDER, SPIDER, about=A)
    with pytest.raises(NodeRefused):
        mgmt.register(NodeType.SPIDER, SPIDER, about=B)
    mgmt.heartbeat(lease)
    assert len(mgmt.nodes()) == 1


# Identity.


def test_what_was_recorded_stays_once_a_link_is_known(engine: Engine, mgmt: Mgmt) -> None:
    assert mgmt.agree({"url.max_length": "2048"}) == {"url.max_length": "2048"}
    assert mgmt.agree({"url.max_length": "100"}) == {"url.max_length": "100"}, "nothing was made by it yet"
    mgmt.add([NewLink("h/1", "https://h/1", "h")])
    assert engine.another().agree({"url.max_length": "7", "bases": "64"}) == {"url.max_length": "100", "bases": "64"}
    assert mgmt.agree({"url.max_length": "7"}, replaces=True)["url.max_length"] == "7"
    assert mgmt.agree({}) == {"url.max_length": "7", "bases": "64"}


def test_the_first_store_is_the_store(engine: Engine, mgmt: Mgmt) -> None:
    first, second = StoreOwner("1", "a:/home"), StoreOwner("2", "b:/home")
    assert mgmt.index_store() is None
    assert mgmt.own_store(first) == first == mgmt.index_store()
    assert engine.another().own_store(second) == first
    assert mgmt.own_store(StoreOwner("1", "c:/home")) == StoreOwner("1", "c:/home"), "it was moved"
    assert mgmt.own_store(second) == StoreOwner("1", "c:/home")
    assert mgmt.own_store(second, replaces=True) == second
    assert mgmt.own_store(first) == second
    assert mgmt.agree({}) == {}

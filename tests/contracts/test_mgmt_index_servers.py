"""Index servers, as every control plane promises: they divide the shards of a row, and tell how far they have come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from support.mgmt_engines import Engine
from weft.errors import LeaseLost
from weft.mgmt.api import Mgmt
from weft.mgmt.values import (
    BuildChunk,
    ChunkId,
    Lease,
    NewLink,
    NodeAbout,
    NodeId,
    NodeState,
    NodeType,
    Result,
    WarcPosition,
)
from weft.model.original import Original

SHARDS = 16
SERVER = "10.10.127.102:5000"


def join(mgmt: Mgmt, number: int, row: int = 1) -> Lease:
    return mgmt.register(NodeType.INDEX_SERVER, f"s{number}:1", row)


def settle(mgmt: Mgmt, servers: Sequence[Lease], count: int = SHARDS) -> list[frozenset[int]]:
    """What each owns after some heartbeats."""
    for _ in range(3):
        owned = [mgmt.own_shards(server, count) for server in servers]
    return owned


def sizes(owned: Sequence[frozenset[int]], count: int = SHARDS) -> list[int]:
    """How many each has; all shards have one owner."""
    assert sorted(shard for one in owned for shard in one) == list(range(count))
    return sorted(map(len, owned), reverse=True)


@pytest.fixture
def crawler(mgmt: Mgmt) -> Lease:
    return mgmt.register(NodeType.CRAWLER, "crawler:1")


@pytest.fixture
def builder(mgmt: Mgmt) -> Lease:
    return mgmt.register(NodeType.INDEX_BUILDER, "builder:1")


def crawl(mgmt: Mgmt, crawler: Lease, builder: Lease, page: int) -> BuildChunk:
    """A chunk in the builder's hands."""
    mgmt.add([NewLink(f"h/{page}", f"https://h/{page}", "h")])
    chunk = mgmt.claim(crawler)
    assert chunk is not None
    position = WarcPosition("s:1", "f", 0, 1)
    mgmt.report([Result(doc_id=one.doc_id, claim=one.claim, status=200, position=position) for one in chunk.links])
    (taken,) = mgmt.take_crawled(builder)
    return taken


def build(mgmt: Mgmt, crawler: Lease, builder: Lease, *seqs: int) -> None:
    """Chunks that are built, with these seqs."""
    known = len(mgmt.table("link"))
    for page, seq in enumerate(seqs, known):
        taken = crawl(mgmt, crawler, builder, page)
        assert mgmt.built(builder, taken.id, taken.attempt, seq)


def holds(mgmt: Mgmt) -> dict[str, int]:
    return {node.address: node.holds for node in mgmt.nodes() if node.type is NodeType.INDEX_SERVER}


def placed(mgmt: Mgmt) -> list[tuple[object, ...]]:
    return [(row["row"], row["chunk_id"], row["is_host"], row["state"]) for row in mgmt.table("index_server")]


# shards


def test_one_server_owns_all_shards_of_its_row(mgmt: Mgmt) -> None:
    first, second = join(mgmt, 1, row=1), join(mgmt, 2, row=2)
    assert mgmt.own_shards(first, SHARDS) == mgmt.own_shards(second, SHARDS) == frozenset(range(SHARDS))
    assert mgmt.own_shards(first, SHARDS) == frozenset(range(SHARDS)), "asking again changes nothing"


def test_rows_divide_their_shards_independently_of_each_other(mgmt: Mgmt) -> None:
    rows = {1: [join(mgmt, number, 1) for number in range(3)], 2: [join(mgmt, number, 2) for number in range(3, 5)]}
    divided = {row: settle(mgmt, servers) for row, servers in rows.items()}
    assert sizes(divided[1]) == [6, 5, 5]
    assert sizes(divided[2]) == [8, 8]
    mgmt.tell(rows[1][0], NodeState.OFFLINE)
    assert settle(mgmt, rows[2]) == divided[2]
    assert sizes(settle(mgmt, rows[1][1:])) == [8, 8]


def test_shards_are_even_and_few_move_while_servers_come_and_go(mgmt: Mgmt) -> None:
    servers: list[Lease] = []
    owned: list[frozenset[int]] = []
    for number in range(5):
        servers.append(join(mgmt, number))
        before, owned = owned, settle(mgmt, servers)
        even = sizes(owned)
        assert even[0] - even[-1] <= 1
        moved = sum(len(one - now) for one, now in zip(before, owned, strict=False))
        assert moved == (len(owned[-1]) if before else 0), "only what the new one gets"
    for _ in range(4):
        mgmt.tell(servers.pop(0), NodeState.OFFLINE)
        before, owned = owned[1:], settle(mgmt, servers)
        even = sizes(owned)
        assert even[0] - even[-1] <= 1
        assert all(one <= now for one, now in zip(before, owned, strict=True)), "only what the old one had"


def test_a_shard_moves_only_when_its_owner_has_given_it_up(mgmt: Mgmt) -> None:
    first, second = join(mgmt, 1), join(mgmt, 2)
    assert mgmt.own_shards(first, SHARDS) == frozenset(range(8)), "the other one is known"
    mgmt.tell(second, NodeState.OFFLINE)
    assert mgmt.own_shards(first, SHARDS) == frozenset(range(SHARDS))
    second = join(mgmt, 2)
    assert mgmt.own_shards(second, SHARDS) == frozenset()
    kept = mgmt.own_shards(first, SHARDS)
    assert len(kept) == 8
    assert mgmt.own_shards(second, SHARDS) == frozenset(), "the first may not have closed them yet"
    assert mgmt.own_shards(first, SHARDS) == kept
    assert mgmt.own_shards(second, SHARDS) == frozenset(range(SHARDS)) - kept


def test_shards_of_a_server_whose_lease_ended_go_to_the_others(engine: Engine, mgmt: Mgmt) -> None:
    dead, alive = join(mgmt, 1), join(mgmt, 2)
    settle(mgmt, [dead, alive])
    engine.clock.advance(44)
    mgmt.heartbeat(alive)
    assert len(mgmt.own_shards(alive, SHARDS)) == 8
    engine.clock.advance(2)
    mgmt.heartbeat(alive)
    assert mgmt.own_shards(alive, SHARDS) == frozenset(range(SHARDS))
    with pytest.raises(LeaseLost):
        mgmt.own_shards(dead, SHARDS)


def test_a_server_that_comes_back_gets_what_it_had(mgmt: Mgmt) -> None:
    servers = [join(mgmt, number) for number in range(3)]
    before = settle(mgmt, servers)
    mgmt.tell(servers[0], NodeState.OFFLINE)
    settle(mgmt, servers[1:])
    servers[0] = join(mgmt, 0)
    after = settle(mgmt, servers)
    assert len(before[0] & after[0]) >= 5
    assert sum(len(now - one) for one, now in zip(before, after, strict=True)) <= 1


def test_one_that_pauses_shares_and_one_that_drains_keeps_what_it_has_until_it_leaves(mgmt: Mgmt) -> None:
    first, second = servers = [join(mgmt, 1), join(mgmt, 2)]
    before = settle(mgmt, servers)
    mgmt.tell(first, NodeState.PAUSED)
    assert settle(mgmt, servers) == before
    mgmt.tell(first, NodeState.DRAINING)
    assert settle(mgmt, servers) == before
    third = join(mgmt, 3)
    owned = settle(mgmt, [*servers, third])
    assert owned[0] == before[0]
    assert sizes(owned) == [8, 4, 4]
    mgmt.tell(first, NodeState.OFFLINE)
    assert sizes(settle(mgmt, [second, third])) == [8, 8]


def test_a_server_that_registers_in_another_row_leaves_its_shards_behind(mgmt: Mgmt) -> None:
    first, second = join(mgmt, 1), join(mgmt, 2)
    settle(mgmt, [first, second])
    second = join(mgmt, 2, row=2)
    assert mgmt.own_shards(second, SHARDS) == mgmt.own_shards(first, SHARDS) == frozenset(range(SHARDS))


def test_there_may_be_more_servers_than_shards_and_the_count_may_change(mgmt: Mgmt) -> None:
    servers = [join(mgmt, number) for number in range(5)]
    assert sizes(settle(mgmt, servers, 3), 3) == [1, 1, 1, 0, 0]
    assert sizes(settle(mgmt, servers, 20), 20) == [4, 4, 4, 4, 4]
    assert sizes(settle(mgmt, servers, 2), 2) == [1, 1, 0, 0, 0]
    assert settle(mgmt, servers, 0) == [frozenset()] * 5


def test_shards_are_not_the_slots_of_addresses(mgmt: Mgmt, crawler: Lease) -> None:
    server = join(mgmt, 1)
    assert mgmt.own_shards(server, SHARDS) == frozenset(range(SHARDS))
    assert mgmt.own_slots(crawler) == frozenset(range(256))
    assert mgmt.own_shards(crawler, SHARDS) == mgmt.own_slots(server) == frozenset()


@pytest.mark.parametrize("seed", range(3))
def test_no_shard_has_two_living_owners_in_a_row_whatever_happens(engine: Engine, mgmt: Mgmt, seed: int) -> None:
    random = Random(seed)
    others = [mgmt, engine.another()]
    leases: dict[int, Lease] = {}
    answers: dict[NodeId, frozenset[int]] = {}

    def own(lease: Lease) -> None:
        try:
            answers[lease.node] = random.choice(others).own_shards(lease, SHARDS)
        except LeaseLost:
            answers.pop(lease.node, None)

    for _ in range(150):
        number = random.randrange(5)
        step, lease = random.randrange(20), leases.get(number)
        if lease is None or step == 0:
            leases[number] = join(mgmt, number, row=number % 2)
            answers.pop(leases[number].node, None)
        elif step == 1:
            mgmt.tell(lease, NodeState.OFFLINE)
            del leases[number]
        elif step in (2, 3):
            try:
                mgmt.tell(lease, NodeState.DRAINING if step == 2 else NodeState.ONLINE)
            except LeaseLost:
                del leases[number]
        elif step == 4:
            engine.clock.advance(random.choice([1, 10, 30]))
            for one in list(leases.values()):
                if random.random() < 0.8:
                    try:
                        mgmt.heartbeat(one)
                    except LeaseLost:
                        answers.pop(one.node, None)
        else:
            own(lease)
        living = {node.id: node.row for node in mgmt.nodes() if node.state is not NodeState.OFFLINE}
        owners = Counter((living[node], shard) for node in living for shard in answers.get(node, ()))
        assert not owners or max(owners.values()) == 1
        answers = {node: owned for node, owned in answers.items() if node in living}


# placements


def test_a_node_tells_its_row(mgmt: Mgmt, crawler: Lease) -> None:
    join(mgmt, 1, row=2)
    assert [(node.type, node.row) for node in mgmt.nodes()] == [(NodeType.CRAWLER, 0), (NodeType.INDEX_SERVER, 2)]
    join(mgmt, 1, row=1)
    assert [node.row for node in mgmt.nodes()] == [0, 1]


def test_built_chunks_are_placed_on_every_server_of_every_row(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    gone = mgmt.register(NodeType.INDEX_SERVER, "gone:1", 1)
    first = mgmt.register(NodeType.INDEX_SERVER, SERVER, 1)
    second = join(mgmt, 2, row=2)
    mgmt.tell(gone, NodeState.OFFLINE)
    assert mgmt.table("index_server") == []
    build(mgmt, crawler, builder, 10, 20)
    assert mgmt.table("index_server")[0] == {
        "index": 1,
        "row": 1,
        "chunk_id": 1,
        "is_host": SERVER,
        "state": "pending",
    }
    assert [(row, chunk, host) for row, chunk, host, _ in placed(mgmt)] == [
        (1, 1, SERVER),
        (2, 1, second.address),
        (1, 2, SERVER),
        (2, 2, second.address),
    ]
    assert holds(mgmt) == {"gone:1": 0, first.address: 2, second.address: 2}


def test_a_server_has_what_was_built_by_the_seq_that_it_acknowledged(
    mgmt: Mgmt, crawler: Lease, builder: Lease
) -> None:
    server, other = join(mgmt, 1), join(mgmt, 2, row=2)
    build(mgmt, crawler, builder, 10, 20, 20, 30)
    for seq, left in ((9, 4), (10, 3), (25, 1), (7, 1), (30, 0), (99, 0)):
        mgmt.acknowledge(server, seq)
        assert holds(mgmt) == {server.address: left, other.address: 4}
        states = [state for _, _, host, state in placed(mgmt) if host == server.address]
        assert states == ["indexed"] * (4 - left) + ["pending"] * left
    build(mgmt, crawler, builder, 99, 100)
    assert holds(mgmt)[server.address] == 1, "it may be there before the builder has told"


def test_a_new_server_gets_what_was_built_before_it_came(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    build(mgmt, crawler, builder, 1, 2)
    server = join(mgmt, 1)
    assert placed(mgmt) == [(1, 1, server.address, "pending"), (1, 2, server.address, "pending")]
    join(mgmt, 1)
    assert len(placed(mgmt)) == 2


def test_a_server_that_was_away_gets_what_was_built_meanwhile(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    server = join(mgmt, 1)
    build(mgmt, crawler, builder, 1)
    mgmt.acknowledge(server, 1)
    mgmt.tell(server, NodeState.OFFLINE)
    build(mgmt, crawler, builder, 2, 3)
    assert (len(placed(mgmt)), holds(mgmt)) == (1, {server.address: 0})
    server = join(mgmt, 1)
    assert [chunk for _, chunk, _, _ in placed(mgmt)] == [1, 2, 3]
    assert holds(mgmt) == {server.address: 3}, "nobody knows what it finds on its disk"
    mgmt.acknowledge(server, 2)
    assert [state for *_, state in placed(mgmt)] == ["indexed", "indexed", "pending"]


def test_a_server_takes_the_place_of_those_of_its_row_and_machine_that_are_gone(
    mgmt: Mgmt, crawler: Lease, builder: Lease
) -> None:
    build(mgmt, crawler, builder, 1, 2)
    here, there = NodeAbout(machine="here"), NodeAbout(machine="there")
    first = mgmt.register(NodeType.INDEX_SERVER, "s:1", 1, here)
    mgmt.register(NodeType.INDEX_SERVER, "s:2", 1, there)
    other_row = mgmt.register(NodeType.INDEX_SERVER, "s:3", 2, here)
    for lease in (first, other_row):
        mgmt.tell(lease, NodeState.OFFLINE)
    mgmt.register(NodeType.INDEX_SERVER, "s:4", 1, here)
    assert sorted({str(host) for _, _, host, _ in placed(mgmt)}) == ["s:2", "s:3", "s:4"]
    mgmt.register(NodeType.INDEX_SERVER, "s:1", 1, here)
    assert sorted({str(host) for _, _, host, _ in placed(mgmt)}) == ["s:1", "s:2", "s:3", "s:4"]
    assert len(placed(mgmt)) == 8


def test_what_a_server_has_is_of_the_row_that_it_is_in_now(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    join(mgmt, 1)
    build(mgmt, crawler, builder, 1)
    server = join(mgmt, 1, row=2)
    assert placed(mgmt) == [(2, 1, server.address, "pending")]


def test_with_a_new_shard_nothing_is_acknowledged_until_the_server_says_so(
    mgmt: Mgmt, crawler: Lease, builder: Lease
) -> None:
    first, second = join(mgmt, 1), join(mgmt, 2)
    settle(mgmt, [first, second])
    build(mgmt, crawler, builder, 1)
    for server in (first, second):
        mgmt.acknowledge(server, 5)
    settle(mgmt, [first, second])
    assert holds(mgmt) == {first.address: 0, second.address: 0}
    mgmt.tell(first, NodeState.OFFLINE)
    mgmt.own_shards(second, SHARDS)
    assert holds(mgmt)[second.address] == 1
    mgmt.acknowledge(second, 4)
    assert holds(mgmt)[second.address] == 0
    first = join(mgmt, 1)
    settle(mgmt, [first, second])
    assert holds(mgmt) == {first.address: 1, second.address: 0}, "fewer shards are as complete as all were"


def test_a_chunk_that_is_reported_twice_keeps_its_first_seq(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    server = join(mgmt, 1)
    taken = crawl(mgmt, crawler, builder, 0)
    assert mgmt.built(builder, taken.id, taken.attempt, 5)
    assert mgmt.built(builder, taken.id, taken.attempt, 9)
    mgmt.acknowledge(server, 5)
    assert placed(mgmt) == [(1, taken.id, server.address, "indexed")]


def test_an_index_that_is_built_again_is_indexed_again(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    server = join(mgmt, 1)
    build(mgmt, crawler, builder, 50)
    mgmt.acknowledge(server, 50)
    assert mgmt.offer_built() == 1
    assert (placed(mgmt), holds(mgmt)) == ([(1, 1, server.address, "pending")], {server.address: 0})
    (again,) = mgmt.take_crawled(builder)
    assert mgmt.built(builder, again.id, again.attempt, 2)
    assert (placed(mgmt), holds(mgmt)) == ([(1, 1, server.address, "pending")], {server.address: 1})
    mgmt.acknowledge(server, 2)
    assert placed(mgmt) == [(1, 1, server.address, "indexed")]


def test_only_chunks_that_an_index_lacks_are_built_again(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    build(mgmt, crawler, builder, 10, 20, 30, 40)
    assert mgmt.offer_built(40) == 0
    assert mgmt.offer_built(30, [ChunkId(2), ChunkId(9)]) == 2
    assert mgmt.offer_built(30, [ChunkId(2)]) == 0, "they are offered already"
    assert [chunk.id for chunk in mgmt.take_crawled(builder)] == [2, 4]
    assert mgmt.counts().chunks["built"] == 2


def test_what_an_index_should_hold_is_listed_by_uri(mgmt: Mgmt, crawler: Lease, builder: Lease) -> None:
    mgmt.add([NewLink("h/9", "https://h/9", "h", 7, '"tag"', "", Original("record", "https://h/9", "today", "digest"))])
    taken = {}
    for seq in (5, 6):
        chunk = mgmt.claim(crawler, 1)
        assert chunk is not None
        mgmt.refuse(crawler, [Result(doc_id=one.doc_id, claim=one.claim, error="robots") for one in chunk.links])
        (taken[seq],) = mgmt.take_crawled(builder)
        assert mgmt.built(builder, taken[seq].id, taken[seq].attempt, seq)
        mgmt.add([NewLink("h/1", "https://h/1", "h")])
    mgmt.add([NewLink("h/2", "https://h/2", "h")])
    crawl(mgmt, crawler, builder, 3)
    listed = mgmt.built_links()
    assert [(one.chunk, one.seq, one.link.uri) for one in listed] == [(taken[6].id, 6, "h/1"), (taken[5].id, 5, "h/9")]
    assert [one.link for one in listed] == [*taken[6].links, *taken[5].links], "what a builder is given"
    assert (listed[1].link.priority, listed[1].link.asked) == (7, Original("record", "https://h/9", "today", "digest"))
    assert [one.link.uri for one in mgmt.built_links("", 1)] == ["h/1"]
    assert [one.link.uri for one in mgmt.built_links("h/1")] == ["h/9"]
    assert mgmt.built_links("h/9") == []

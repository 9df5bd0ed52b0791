"""A process that was stopped for days in the middle of a batch asks before it sends more of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.calm_store import calm_session
from simulation.session import ModelSession
from simulation.watched_store import KEYSPACE, LIFETIME
from weft.clock import ManualClock
from weft.dispatcher.domain_work import listed_cells
from weft.errors import OwnerReplaced, StoreUnwritable
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import NodeType
from weft.roles.store_registry import MgmtRegistry
from weft.store.api import Batch, Column
from weft.store.cassandra.permission import ASK_AGAIN, Permission
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.schema import GC_GRACE
from weft.store.cassandra.store import CassandraStore
from weft.store.tables import Table

ROWS = [b"row%d" % number for number in range(40)]
HALF = len(ROWS) // 2


class Interrupted(ModelSession):
    """Something happens before one of its requests."""

    sent = 0
    at = -1
    happens: Callable[[], None]

    def _step(self) -> None:
        self.sent += 1
        if self.sent == self.at:
            self.happens()


class World:
    def __init__(self) -> None:
        self.clock, self.mgmt = ManualClock(), MemoryMgmt()
        made = calm_session(1, Interrupted)
        assert isinstance(made, Interrupted)
        self.session = made

    def owner(self, session: ModelSession) -> RegisteredStore:
        lease = self.mgmt.register(NodeType.INDEX_BUILDER, "owner")
        store = RegisteredStore(session, KEYSPACE, LIFETIME, self.clock)
        return store.own(MgmtRegistry(self.mgmt, lease), listed_cells)

    def another(self) -> RegisteredStore:
        """Another process, at the same cluster."""
        first = self.session
        return self.owner(ModelSession(first._stage, first._cluster, first._tally))


def batch(value: bytes | None) -> Batch:
    made = Batch()
    for row in ROWS:
        if value is None:
            made.delete(Table.QUERY, row, b"f", b"q")
        else:
            made.put(Table.QUERY, row, b"f", b"q", value)
    return made


def values(store: CassandraStore) -> set[bytes | None]:
    return {cell and cell.value for cell in store.get(Table.QUERY, [Column(row, b"f", b"q") for row in ROWS])}


def test_one_that_was_replaced_meanwhile_sends_nothing_more() -> None:
    world = World()
    store = world.owner(world.session)

    def sleep_for_days() -> None:
        next_owner = world.another()
        next_owner.write(batch(None), 2)
        world.clock.advance(GC_GRACE + 3600)
        # Nothing is left of the deletes, so that whatever arrives now would live.
        for replica in world.session._cluster.replicas:
            replica.purge(1 << 60)

    world.session.at, world.session.happens = world.session.sent + HALF, sleep_for_days
    with pytest.raises(OwnerReplaced):
        store.write(batch(b"one"), 1)
    # One request was handed over when it fell asleep.
    found = world.another()
    assert [cell.row for cell in found.scan_rows(Table.QUERY)] in ([], *([row] for row in ROWS))


def test_one_that_still_owns_the_index_finishes_its_batch() -> None:
    world = World()
    store = world.owner(world.session)
    world.session.at, world.session.happens = world.session.sent + HALF, lambda: world.clock.advance(GC_GRACE)
    store.write(batch(b"one"), 1)
    assert (values(store), store.last_seq) == ({b"one"}, 1)
    store.write(batch(b"two"), 2)
    assert values(store) == {b"two"}


def test_one_that_takes_over_and_falls_asleep_asks_too() -> None:
    world = World()
    world.owner(world.session).write(batch(b"one"), 1)

    def sleep_for_days() -> None:
        world.another()
        world.clock.advance(GC_GRACE)

    world.session.at, world.session.happens = world.session.sent + HALF, sleep_for_days
    with pytest.raises(OwnerReplaced):
        world.owner(world.session)


def test_whoever_copies_cells_begins_again() -> None:
    world = World()
    store = CassandraStore(world.session, KEYSPACE, LIFETIME, world.clock)
    world.session.at, world.session.happens = world.session.sent + HALF, lambda: world.clock.advance(ASK_AGAIN)
    with pytest.raises(StoreUnwritable, match="stopped for too long"):
        store.write(batch(b"one"), 1)
    store.write(batch(b"one"), 1)
    assert values(store) == {b"one"}


def test_it_is_asked_for_once_in_ten_minutes() -> None:
    clock, asked = ManualClock(), list[int]()
    permission = Permission(lambda: asked.append(clock.now()), clock, clock.now())
    for _ in range(3600):
        clock.advance(1)
        permission()
    assert asked == [minutes * 60_000 for minutes in (10, 20, 30, 40, 50, 60)]


def test_an_answer_that_came_too_late_is_asked_for_again() -> None:
    clock, asked = ManualClock(), list[int]()

    def ask() -> None:
        asked.append(clock.now())
        if len(asked) == 1:
            clock.advance(GC_GRACE)

    permission = Permission(ask, clock, clock.now())
    clock.advance(ASK_AGAIN)
    permission()
    assert asked == [ASK_AGAIN * 1000, (ASK_AGAIN + GC_GRACE) * 1000]

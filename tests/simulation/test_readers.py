"""What somebody sees who reads while a batch is written.

That puts are sent before deletes is for readers alone: owners never decide by a batch in part. Where requests are sent
one after the other, no name is ever missing. With many under way at a time, it only makes that rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import pytest

from simulation.calm_store import calm_session
from simulation.history import small_bands
from simulation.replica import Mutation
from simulation.session import ModelSession
from simulation.watched_store import KEYSPACE, LIFETIME
from simulation.workload import apply_inputs, inputs_of, new_index
from weft.store.cassandra import store as store_module
from weft.store.cassandra.cluster_session import Request
from weft.store.cassandra.placement import Placement
from weft.store.cassandra.store import CassandraStore
from weft.store.cassandra.view import CassandraView
from weft.store.cassandra.writing import write_groups
from weft.store.encoding import split_descending
from weft.store.memory import MemoryStore
from weft.store.tables import Table

_DOMAIN = b"d:com.a"


class LookedAt(ModelSession):
    """Somebody reads before every request."""

    seen: list[set[bytes]]

    def _step(self, flight: list[Mutation]) -> None:
        self.seen.append(ranked_names(CassandraView(self, KEYSPACE)))


def ranked_names(reader: CassandraView | MemoryStore) -> set[bytes]:
    return {split_descending(cell.qualifier)[1] for cell in reader.scan(Table.QUERY, _DOMAIN, b"rank")}


def times_missing(in_flight: int) -> int:
    """How often a reader misses a name of a ranking that has it before and after the batch."""
    missing = 0
    with small_bands():
        for seed in range(10):
            session = calm_session(in_flight, LookedAt)
            assert isinstance(session, LookedAt)
            store, twin = CassandraStore(session, KEYSPACE, LIFETIME), MemoryStore()
            index, twin_index = new_index(store), new_index(twin)
            for each in inputs_of(Random(seed)):
                before, session.seen = ranked_names(twin), []
                apply_inputs(index, store, [each])
                apply_inputs(twin_index, twin, [each])
                stays = before & ranked_names(twin)
                missing += sum(not stays <= seen for seen in session.seen)
    return missing


def test_with_puts_before_deletes_a_reader_misses_no_name() -> None:
    assert times_missing(in_flight=1) == 0


def test_with_deletes_before_puts_a_reader_misses_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def turned(
        cells: Mapping[bytes, bytes | None], seq: int, placement: Placement, lifetime: int
    ) -> Iterator[list[Request]]:
        return reversed(list(write_groups(cells, seq, placement, lifetime)))

    monkeypatch.setattr(store_module, "write_groups", turned)
    assert times_missing(in_flight=1) > 0


def test_with_many_requests_under_way_the_order_does_not_keep_a_name_from_being_missed() -> None:
    assert times_missing(in_flight=64) > 0

"""What somebody sees who reads while a batch is written.

What a batch does to one partition is one request. That is for readers alone: owners never decide by a batch in part. A
name that moves in a ranking stays in its partition, so that no reader ever misses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import pytest

from simulation.calm_store import calm_session
from simulation.history import small_bands
from simulation.session import ModelSession
from simulation.watched_store import KEYSPACE, LIFETIME
from simulation.workload import apply_inputs, inputs_of, new_index
from weft.store.cassandra import store as store_module
from weft.store.cassandra.cell_session import Request
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

    def _step(self) -> None:
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


@pytest.mark.parametrize("in_flight", [1, 64])
def test_a_reader_misses_no_name_that_moves_in_a_ranking(in_flight: int) -> None:
    assert times_missing(in_flight) == 0


def test_with_requests_for_deletes_alone_a_reader_misses_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(
        cells: Mapping[bytes, bytes | None], seq: int, placement: Placement, lifetime: int
    ) -> Iterator[list[Request]]:
        for group in write_groups(cells, seq, placement, lifetime):
            deletes = [request for request in group if request.statement.name.startswith("DELETE")]
            puts = [request for request in group if request not in deletes]
            yield from filter(None, (deletes, puts))

    monkeypatch.setattr(store_module, "write_groups", apart)
    assert times_missing(in_flight=1) > 0

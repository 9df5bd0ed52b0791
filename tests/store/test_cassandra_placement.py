"""Where cells lie in a cluster: whoever looks for one asks the partition that has it."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.calm_store import calm_session
from simulation.session import ModelSession
from simulation.watched_store import LIFETIME
from simulation.workload import apply_inputs, inputs_of, new_index
from weft.answers.index import Index
from weft.linkindex.feed import feed_all_cells
from weft.model.url import UrlRules
from weft.store.api import Batch, Cell, Column
from weft.store.cassandra.bands import band_of
from weft.store.cassandra.cell_session import Request
from weft.store.cassandra.placement import HEAD, Partition, Placement, is_remembered
from weft.store.cassandra.schema import VERSION, Keyspace
from weft.store.cassandra.store import CassandraStore
from weft.store.cassandra.view import CassandraView
from weft.store.encoding import descending
from weft.store.memory import MemoryStore
from weft.store.tables import Table

SHARDS = (1, 2, 16, 64)


def cells_of_an_index() -> list[tuple[Table, Cell]]:
    """Every kind of cell that weft writes."""
    store = MemoryStore()
    index = new_index(store)
    for seed in range(5):
        for each in inputs_of(Random(seed)):
            apply_inputs(index, store, [each])
    store.write(Batch(dict(feed_all_cells(store.last_seq + 1))), store.last_seq + 1)
    found = [(table, cell) for table in Table for cell in store.scan_rows(table)]
    plain = Placement(16)
    return [
        (table, cell)
        for table, cell in found
        if not is_remembered(table, cell.row) and plain.of_ranked(table, *cell[:3]) is None
    ]


CELLS = cells_of_an_index()


@pytest.mark.parametrize("shards", SHARDS)
def test_a_cell_lies_where_its_family_its_row_and_its_table_are_looked_for(shards: int) -> None:
    placement = Placement(shards)
    of_rows = cache(lambda table, prefix: frozenset(placement.of_rows(table, prefix)))
    assert len({(table, cell.row[:2], cell.family) for table, cell in CELLS}) >= 19
    for table, cell in CELLS:
        place = placement.of_cell(table, *cell[:3])
        assert place in placement.of_family(table, cell.row, cell.family), (table, cell)
        assert place in placement.of_family(table, cell.row, None), (table, cell)
        for length in range(7):
            assert place in of_rows(table, cell.row[:length]), (table, cell, length)


@pytest.mark.parametrize(("shards", "places"), [(1, 1), (2, 1), (16, 1), (64, 4), (256, 16)])
def test_references_to_a_page_lie_in_one_shard_of_sixteen_and_with_the_page(shards: int, places: int) -> None:
    placement, row = Placement(shards), b"p:com.example/page"
    found = {placement.of_cell(Table.QUERY, row, b"inlinks", b"com.s/%d" % number) for number in range(1_000)}
    assert found == set(placement.of_family(Table.QUERY, row, b"inlinks"))
    assert len(found) == places
    assert placement.home(Table.QUERY, row) in found


def test_what_each_base_has_one_of_lies_in_one_partition() -> None:
    placement = Placement(16)
    of_all = {placement.of_cell(Table.FLUO, b"tm:%02x" % base, b"info", b"") for base in range(64)}
    of_feed = {
        placement.of_cell(Table.FEED, b"f:%02x" % base, family, b"")
        for base in range(64)
        for family in (b"all", b"dropped")
    }
    assert of_all == of_feed
    assert len(of_all) == 1


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_bands_rise_with_counts_and_none_is_on_both_sides_of_the_head(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert band_of(low) <= band_of(high)
    assert band_of(low) <= low
    assert (band_of(low) >= HEAD) == (low >= HEAD)


def test_a_page_with_millions_of_references_has_passed_few_bands() -> None:
    assert len({band_of(count) for count in range(100_000)}) < 64 + 4 * 32 + 7 * 8


class Asked(ModelSession):
    """Keeps what it was asked for."""

    requests: list[Request]

    def read(self, requests: Any) -> Any:
        self.requests += requests
        return super().read(requests)

    def pages(self, request: Request) -> Any:
        self.requests.append(request)
        return super().pages(request)


def ranked(counts: dict[bytes, int]) -> tuple[CassandraView, Asked]:
    session = calm_session(session_class=Asked)
    assert isinstance(session, Asked)
    session.requests = []
    keyspace = Keyspace(VERSION, 16, "model")
    batch = Batch()
    for name, count in counts.items():
        batch.put(Table.QUERY, b"t:" + descending(count) + name, b"", b"", b"%d" % count)
    CassandraStore(session, keyspace, LIFETIME).write(batch, 1)
    session.requests.clear()
    return CassandraView(session, keyspace), session


def test_a_top_of_names_that_count_much_asks_one_partition() -> None:
    view, session = ranked({b"com.a%03d" % number: number for number in range(200)})
    first = [cell for cell, _ in zip(view.scan_rows(Table.QUERY, b"t:"), range(21), strict=False)]
    assert [int(cell.value) for cell in first] == list(range(199, 178, -1))
    of_ranking = [request for request in session.requests if request.statement.name.startswith("SCAN_RANKS")]
    assert [request.values[:2] for request in of_ranking] == [Partition(64, 0)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("start", [None, 0, 30, HEAD - 1, HEAD, HEAD + 1, 150, 199, 500])
def test_a_ranking_is_read_over_its_head_in_both_directions(start: int | None, reverse: bool) -> None:
    counts = {b"com.a%03d" % number: number for number in range(200)}
    view, _ = ranked(counts)
    rows = sorted((b"t:" + descending(count) + name for name, count in counts.items()), reverse=reverse)
    begin = None if start is None else b"t:" + descending(start) + b"com.a%03d" % start
    expected = [row for row in rows if begin is None or (row <= begin if reverse else row >= begin)]
    assert [cell.row for cell in view.scan_rows(Table.QUERY, b"t:", start=begin, reverse=reverse)] == expected
    wanted = [Column(row) for row in rows[:3] + rows[-3:]]
    assert [cell and cell.row for cell in view.get(Table.QUERY, wanted)] == [column.row for column in wanted]


def test_the_first_page_of_a_top_asks_few_partitions() -> None:
    """Of the totals of 64 bases one; of the ranking its head, and of the pages shown each its own."""
    session = calm_session(session_class=Asked)
    assert isinstance(session, Asked)
    session.requests = []
    keyspace = Keyspace(VERSION, 16, "model")
    store = CassandraStore(session, keyspace, LIFETIME)
    index = new_index(store)
    for each in inputs_of(Random(1)):
        apply_inputs(index, store, [each])
    session.requests.clear()
    answer = Index(CassandraView(session, keyspace), UrlRules()).top()
    assert answer.count
    others = [request for request in session.requests if not request.statement.name.startswith("SCAN_RANKS")]
    assert len(others) <= 3 + 2 * answer.count

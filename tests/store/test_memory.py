"""MemoryStore under the deliveries that a cluster may make."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import BatchRefused
from weft.store.api import Batch
from weft.store.memory import LateMemoryStore, MemoryStore
from weft.store.tables import Table

cells = st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.sampled_from([b"x", b"y"]), st.none() | st.binary(max_size=2))
batches = st.lists(st.lists(cells, max_size=5), max_size=12)


def made(operations: list[tuple[bytes, bytes, bytes | None]]) -> Batch:
    batch = Batch()
    for row, qualifier, value in operations:
        if value is None:
            batch.delete(Table.QUERY, row, b"f", qualifier)
        else:
            batch.put(Table.QUERY, row, b"f", qualifier, value)
    return batch


@given(history=batches, seed=st.integers(0, 1000))
def test_late_doubled_and_shuffled_batches_end_in_the_same_cells(history: list, seed: int) -> None:
    in_order, late = MemoryStore(), LateMemoryStore(Random(seed))
    for seq, operations in enumerate(history, 1):
        in_order.write(made(operations), seq)
        late.write(made(operations), seq)
    late.settle()
    assert list(late.scan_rows(Table.QUERY)) == list(in_order.scan_rows(Table.QUERY))


@given(first=st.lists(cells, max_size=6), second=st.lists(cells, max_size=6))
def test_two_batches_of_one_seq_end_the_same_in_both_orders(first: list, second: list) -> None:
    ends = []
    for order in ([first, second], [second, first]):
        store = MemoryStore()
        for operations in order:
            store.write(made(operations), 1)
        ends.append(list(store.scan_rows(Table.QUERY)))
    assert ends[0] == ends[1]


def test_late_delivery_is_really_late() -> None:
    store = LateMemoryStore(Random(3))
    for seq in range(1, 30):
        store.write(made([(b"a", b"x", b"%d" % seq), (b"b", b"x", b"%d" % seq)]), seq)
    assert {cell.value for cell in store.scan_rows(Table.QUERY)} != {b"29"}
    store.settle()
    assert {cell.value for cell in store.scan_rows(Table.QUERY)} == {b"29"}


def test_an_engine_without_the_capability_refuses_row_ranges() -> None:
    batch = Batch()
    batch.delete_rows(Table.QUERY, b"a", b"b")
    with pytest.raises(BatchRefused, match="any order"):
        LateMemoryStore(Random(1)).write(batch, 1)

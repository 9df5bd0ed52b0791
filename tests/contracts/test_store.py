"""What every engine of the store promises (weft.store.api)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.calm_store import calm_registered_store, calm_store
from support.cassandra_store import new_registered_store, new_store
from weft.errors import BatchRefused
from weft.store.api import Batch, Capability, Cell, Column, CopiedCell, CopyStore, Store
from weft.store.encoding import cell_key
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table, ranked

ENGINES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "rocksdb": RocksStore,
    "modelled cluster": lambda _: calm_store(),
    "modelled cluster, registered": lambda _: calm_registered_store(),
}
CLUSTER: dict[str, Callable[[tuple[str, ...]], Store]] = {
    "cassandra": new_store,
    "cassandra, registered": new_registered_store,
}

Q = Table.QUERY


@pytest.fixture(params=[*ENGINES, *CLUSTER])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param in CLUSTER:
        made = CLUSTER[request.param](request.getfixturevalue("cassandra_hosts"))
    else:
        made = ENGINES[request.param](tmp_path / "store")
    with made as store:
        yield store


def put(store: Store, seq: int, *cells: tuple[bytes, bytes, bytes, bytes]) -> None:
    batch = Batch()
    for cell in cells:
        batch.put(Q, *cell)
    store.write(batch, seq)


def offer(store: Store, batch: Batch, seq: int) -> None:
    """Write where the engine takes any order; where seqs must rise, see that it refuses."""
    if Capability.ANY_ORDER in store.capabilities or seq > store.last_seq:
        store.write(batch, seq)
        return
    with pytest.raises(BatchRefused, match="not above"):
        store.write(batch, seq)


def everything(store: Store) -> list[tuple[Table, Cell]]:
    return [(table, cell) for table in Table if table is not Table.META for cell in store.scan_rows(table)]


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.last_seq == 0
    assert everything(store) == []
    assert store.get(Q, [Column(b"r", b"f", b"q")]) == [None]


def test_what_was_written_is_read_with_its_seq(store: Store) -> None:
    put(store, 7, (b"r", b"f", b"q", b"v"))
    assert store.get(Q, [Column(b"r", b"f", b"q"), Column(b"r", b"f", b"x")]) == [Cell(b"r", b"f", b"q", 7, b"v"), None]
    assert store.last_seq == 7


def test_tables_do_not_see_each_other(store: Store) -> None:
    put(store, 1, (b"r", b"f", b"q", b"v"))
    assert store.get(Table.FLUO, [Column(b"r", b"f", b"q")]) == [None]
    assert list(store.scan_rows(Table.FLUO)) == []


def test_get_answers_in_the_order_asked_and_repeats(store: Store) -> None:
    put(store, 1, (b"a", b"f", b"", b"1"), (b"b", b"f", b"", b"2"))
    found = store.get(Q, [Column(b"b", b"f"), Column(b"a", b"f"), Column(b"b", b"f")])
    assert [cell and cell.value for cell in found] == [b"2", b"1", b"2"]


def test_the_same_batch_twice_changes_nothing(store: Store) -> None:
    put(store, 1, (b"r", b"f", b"gone", b"1"))
    batch = Batch()
    batch.put(Q, b"r", b"f", b"q", b"v")
    batch.delete(Q, b"r", b"f", b"gone")
    store.write(batch, 2)
    before = everything(store)
    offer(store, batch, 2)
    assert everything(store) == before
    assert len(before) == 1


def test_an_older_seq_loses(store: Store) -> None:
    put(store, 5, (b"r", b"f", b"q", b"new"))
    older = Batch()
    older.put(Q, b"r", b"f", b"q", b"old")
    offer(store, older, 4)
    assert store.get(Q, [Column(b"r", b"f", b"q")]) == [Cell(b"r", b"f", b"q", 5, b"new")]


def test_an_older_delete_loses(store: Store) -> None:
    put(store, 5, (b"r", b"f", b"q", b"new"))
    older = Batch()
    older.delete(Q, b"r", b"f", b"q")
    offer(store, older, 4)
    assert store.get(Q, [Column(b"r", b"f", b"q")])[0] is not None


def test_a_put_older_than_a_delete_stays_deleted(store: Store) -> None:
    newer = Batch()
    newer.delete(Q, b"r", b"f", b"q")
    store.write(newer, 5)
    older = Batch()
    older.put(Q, b"r", b"f", b"q", b"old")
    offer(store, older, 4)
    assert everything(store) == []


def test_a_newer_put_revives_what_was_deleted(store: Store) -> None:
    put(store, 1, (b"r", b"f", b"q", b"1"))
    batch = Batch()
    batch.delete(Q, b"r", b"f", b"q")
    store.write(batch, 2)
    put(store, 3, (b"r", b"f", b"q", b"3"))
    assert [cell.value for cell in store.scan(Q, b"r")] == [b"3"]


@pytest.mark.parametrize("delete_first", [True, False])
def test_within_a_batch_a_delete_wins_over_a_put(store: Store, delete_first: bool) -> None:
    put(store, 1, (b"r", b"f", b"q", b"old"))
    batch = Batch()
    steps = [lambda: batch.delete(Q, b"r", b"f", b"q"), lambda: batch.put(Q, b"r", b"f", b"q", b"new")]
    for step in steps if delete_first else reversed(steps):
        step()
    store.write(batch, 2)
    assert everything(store) == []


@pytest.mark.parametrize("values", [(b"a", b"b"), (b"b", b"a")])
def test_within_a_batch_the_larger_of_two_values_wins(store: Store, values: tuple[bytes, bytes]) -> None:
    put(store, 1, *((b"r", b"f", b"q", value) for value in values))
    assert [cell.value for cell in store.scan(Q, b"r")] == [b"b"]


def test_between_batches_of_one_seq_a_delete_wins(store: Store) -> None:
    put(store, 2, (b"r", b"f", b"q", b"v"))
    batch = Batch()
    batch.delete(Q, b"r", b"f", b"q")
    if Capability.ANY_ORDER not in store.capabilities:
        with pytest.raises(BatchRefused):
            store.write(batch, 2)
        return
    store.write(batch, 2)
    put(store, 2, (b"r", b"f", b"q", b"v"))
    assert everything(store) == []


def test_a_seq_below_one_is_refused(store: Store) -> None:
    with pytest.raises(BatchRefused, match="seq 0"):
        put(store, 0, (b"r", b"f", b"q", b"v"))


ODD = [
    b"",
    b"\x00",
    b"\x00\x00",
    b"\x00\x01",
    b"\x00\xff",
    b"\x01",
    b"a",
    b"a\x00",
    b"a\x00b",
    b"a\x01",
    b"ab",
    b"a\xff",
]
ODD += [b"b", b"\xfe\xff", b"\xff", b"\xff\x00", b"\xff\xff", b"x" * 5000]


def test_keys_of_any_bytes_sort_by_row_then_family_then_qualifier(store: Store) -> None:
    columns = [(row, family, qualifier) for row in ODD for family in ODD[:12] for qualifier in (b"", b"\x00", b"\xff")]
    put(store, 1, *((*column, b"v") for column in columns))
    assert [cell[:3] for cell in store.scan_rows(Q)] == sorted(columns)
    assert list(store.rows(Q)) == sorted(ODD)


@pytest.mark.parametrize("row", ODD)
def test_a_scan_stays_in_its_row(store: Store, row: bytes) -> None:
    put(store, 1, *((r, b"f", b"q", r) for r in ODD))
    assert [cell.value for cell in store.scan(Q, row)] == [row]
    assert [cell.value for cell in store.scan(Q, row, reverse=True)] == [row]
    assert [cell.value for cell in store.scan(Q, row, b"f", reverse=True)] == [row]


def test_empty_qualifiers_families_and_values_are_cells_too(store: Store) -> None:
    put(store, 1, (b"row", b"", b"", b""))
    assert list(store.scan(Q, b"row")) == [Cell(b"row", b"", b"", 1, b"")]


QUALIFIERS = st.binary(max_size=3)


@given(
    qualifiers=st.sets(QUALIFIERS, max_size=12),
    prefix=st.binary(max_size=2),
    start=st.none() | QUALIFIERS,
    limit=st.none() | st.integers(0, 5),
    reverse=st.booleans(),
)
def test_a_scan_takes_prefix_start_limit_and_direction(
    tmp_path_factory: pytest.TempPathFactory,
    qualifiers: set[bytes],
    prefix: bytes,
    start: bytes | None,
    limit: int | None,
    reverse: bool,
) -> None:
    wanted = sorted(q for q in qualifiers if q.startswith(prefix))
    if reverse:
        wanted = [q for q in reversed(wanted) if start is None or q <= start]
    else:
        wanted = [q for q in wanted if start is None or q >= start]
    for name, make in ENGINES.items():
        with make(tmp_path_factory.mktemp(name) / "store") as store:
            neighbours = [(b"r", b"e", b"z"), (b"r", b"g", b""), (b"q", b"f", b"z"), (b"s", b"f", b"")]
            put(store, 1, *((b"r", b"f", q, b"") for q in qualifiers), *((*n, b"") for n in neighbours))
            found = store.scan(Q, b"r", b"f", prefix=prefix, start=start, limit=limit, reverse=reverse)
            assert [cell.qualifier for cell in found] == wanted[:limit], name


def test_prefix_and_start_need_a_family(store: Store) -> None:
    with pytest.raises(ValueError, match="name the family"):
        store.scan(Q, b"r", prefix=b"x")


def test_rows_are_listed_by_prefix_from_a_start(store: Store) -> None:
    put(store, 1, *((row, b"f", bytes([n]), b"") for row in (b"d:a", b"d:b", b"d:c", b"p:a") for n in range(3)))
    assert list(store.rows(Q, b"d:")) == [b"d:a", b"d:b", b"d:c"]
    assert list(store.rows(Q, b"d:", start=b"d:b")) == [b"d:b", b"d:c"]
    assert list(store.rows(Q, b"d:", start=b"a")) == [b"d:a", b"d:b", b"d:c"]
    assert list(store.rows(Q, b"d:", start=b"e")) == []
    assert [cell.row for cell in store.scan_rows(Q, b"d:", start=b"d:c")] == [b"d:c"] * 3


def test_rows_are_scanned_backwards_too(store: Store) -> None:
    put(store, 1, *((row, b"f", bytes([n]), b"") for row in ODD for n in range(2)))
    columns = [(row, b"f", bytes([n])) for row in sorted(ODD, reverse=True) for n in (1, 0)]
    assert [cell[:3] for cell in store.scan_rows(Q, reverse=True)] == columns
    for start in (b"a", b"a\x00zz", b"\xff"):
        below = [column for column in columns if column[0] <= start]
        assert [cell[:3] for cell in store.scan_rows(Q, start=start, reverse=True)] == below
    begins = [column for column in columns if column[0].startswith(b"a")]
    assert [cell[:3] for cell in store.scan_rows(Q, b"a", reverse=True)] == begins


def test_a_scan_does_not_see_a_batch_that_comes_after_it_began(store: Store) -> None:
    put(store, 1, *((b"r", b"f", bytes([n]), b"old") for n in range(100)))
    scan = store.scan(Q, b"r")
    first = next(scan)
    put(store, 2, *((b"r", b"f", bytes([n]), b"new") for n in range(100)), (b"r", b"f", b"x", b"more"))
    assert {first.value, *(cell.value for cell in scan)} == {b"old"}


def test_a_snapshot_holds_still_across_rows_and_tables(store: Store) -> None:
    if Capability.ATOMIC not in store.capabilities:
        pytest.skip("this engine's batches are atomic per row only")
    put(store, 1, (b"a", b"f", b"", b"1"), (b"b", b"f", b"", b"1"))
    with store.snapshot() as view:
        put(store, 2, (b"a", b"f", b"", b"2"), (b"b", b"f", b"", b"2"), (b"c", b"f", b"", b"2"))
        assert [cell.value for cell in view.scan_rows(Q)] == [b"1", b"1"]
        assert view.get(Q, [Column(b"c", b"f"), Column(b"a", b"f")]) == [None, Cell(b"a", b"f", b"", 1, b"1")]
        assert list(view.rows(Q)) == [b"a", b"b"]
        assert view.last_seq == 1
    assert [cell.value for cell in store.scan_rows(Q)] == [b"2"] * 3


def test_a_range_of_rows_is_deleted_before_the_rest_of_its_batch(store: Store) -> None:
    if Capability.DELETE_ROWS not in store.capabilities:
        pytest.skip("this engine cannot delete ranges of rows")
    put(store, 1, *((row, b"f", b"q", b"old") for row in (b"a", b"b", b"b\x00", b"c", b"d")))
    batch = Batch()
    batch.delete_rows(Q, b"b", b"d")
    batch.put(Q, b"c", b"f", b"q", b"new")
    store.write(batch, 2)
    assert [(cell.row, cell.value) for cell in store.scan_rows(Q)] == [(b"a", b"old"), (b"c", b"new"), (b"d", b"old")]
    batch = Batch()
    batch.delete_rows(Q, b"", None)
    store.write(batch, 3)
    assert everything(store) == []


def test_cells_with_encoded_keys_merge_like_the_others(store: Store) -> None:
    first, second = Batch(), Batch()
    first.put(Q, b"r", b"f", b"1", b"a")
    first.put(Q, b"r", b"f", b"2", b"a")
    second.delete(Q, b"r", b"f", b"1")
    second.put(Q, b"r", b"f", b"3", b"a")
    first.add(second.cells)
    store.write(first, 1)
    assert [cell.qualifier for cell in store.scan(Q, b"r")] == [b"2", b"3"]


def test_statistics_tell_the_last_seq_and_the_cells(store: Store) -> None:
    put(store, 3, *((b"r", b"f", bytes([n]), b"v") for n in range(10)))
    figures = store.statistics()
    assert figures["last_seq"] == 3
    if "cells" in figures:  # a cluster does not count them
        assert figures["cells"] >= 10


def test_encoded_rows_are_the_scanned_cells(store: Store) -> None:
    rows = (b"a", b"a\0", b"ab", b"b", b"\xff")
    put(store, 3, *((row, family, b"q\0", row + family) for row in rows for family in (b"", b"f\0", b"g")))
    for prefix in (b"", b"a", b"a\0", b"x"):
        expected = [(cell_key(Q.byte, *cell[:3]), cell.value) for cell in store.scan_rows(Q, prefix)]
        assert list(store.encoded_rows(Q, prefix)) == expected
    assert len(list(store.encoded_rows(Q))) == 15


ROWS_OF_ALL_KINDS = [
    (Table.CHANGES, b"a:04", b"batch", b"7"),
    (Table.CHANGES, b"u:com.a/1", b"batch", b"7"),
    (Table.DOCS, b"x:com.a/1", b"doc", b""),
    (Table.DOMAINS, b"p:" + ranked(2, b"com.a"), b"", b""),
    (Table.DOMAINS, b"r:" + ranked(99, b"com.a"), b"", b""),
    (Table.DOMAINS, b"odd", b"f", b"q"),
    (Table.FEED, b"f:04", b"round", b"\0" * 8),
    (Table.FEED, b"f:04", b"all", b""),
    *((Table.FLUO, b"p:com.a/%d" % number, b"page", b"since") for number in range(3)),
    (Table.FLUO, b"tm:04", b"", b""),
    (Table.FLUO, b"um:04:com.a/1", b"", b""),
    (Table.LINKS, b"l:com.a", b"domain", b"work"),
    *((Table.LINKS, b"l:com.a", b"link", b"com.a/%d" % number) for number in range(20)),
    *((Table.LINKS, b"n:%d:xy" % number, b"at", b"com.a") for number in range(3)),
    (Table.META, b"chunk", b"", b"8"),
    *((Table.QUERY, b"d:com.a", b"rank", ranked(number, b"com.a/%d" % number)) for number in range(0, 400, 7)),
    (Table.QUERY, b"d:com.a", b"domain", b"pagecount"),
    (Table.QUERY, b"d:com.b", b"rank", ranked(3, b"com.b")),
    *((Table.QUERY, b"p:com.a/1", b"inlinks", b"com.a/%d" % number) for number in range(20)),
    *((Table.QUERY, b"t:" + ranked(number, b"com.a/%d" % number), b"", b"") for number in range(0, 400, 7)),
]


def write_all_kinds(store: Store) -> None:
    batch = Batch()
    for number, cell in enumerate(ROWS_OF_ALL_KINDS):
        batch.put(*cell, b"%d" % number)
    for uri in (b"com.a/1", b"com.b"):
        batch.put(Table.FLUO, b"p:" + uri, b"page", b"cur", uri)
        batch.put(Table.QUERY, b"p:" + uri, b"page", b"cur", uri)
    store.write(batch, 1)


def walked(store: Store, table: Table, prefix: bytes = b"") -> list[Cell]:
    return sorted(cell for block in store.walk(table, prefix) for cell in block.cells)


def test_a_walk_finds_what_a_scan_of_rows_does_in_any_order(store: Store) -> None:
    write_all_kinds(store)
    parts = ((Q, b"p"), (Q, b"d:com.a"), (Q, b"p:com.b"), (Q, b"x"), (Table.LINKS, b"n:2"), (Table.FLUO, b"um:04:"))
    for table, prefix in (*((table, b"") for table in Table), *parts):
        assert walked(store, table, prefix) == list(store.scan_rows(table, prefix)), (table, prefix)
    assert sum(len(walked(store, table)) for table in Table if table is not Table.META) == len(ROWS_OF_ALL_KINDS) + 3


def test_a_walk_goes_on_from_any_position(store: Store) -> None:
    write_all_kinds(store)
    blocks = list(store.walk(Q))
    everything = {cell for block in blocks for cell in block.cells}
    filled = [number for number, block in enumerate(blocks) if block.cells]
    for number in filled[:: max(1, len(filled) // 4)]:
        before = {cell for block in blocks[:number] for cell in block.cells}
        rest = {cell for block in store.walk(Q, start=blocks[number].position) for cell in block.cells}
        assert before | {*blocks[number].cells} | rest == everything
        assert before.isdisjoint(rest)


def test_cells_are_copied_with_their_own_seqs(store: Store) -> None:
    assert isinstance(store, CopyStore)
    cells = {
        cell_key(table.byte, *column): CopiedCell(number % 7 + 1, b"%d" % number)
        for number, (table, *column) in enumerate(ROWS_OF_ALL_KINDS)
    }
    store.copy_in(cells)
    store.copy_in(cells)
    assert store.last_seq == 0
    found = {
        cell_key(table.byte, *cell[:3]): CopiedCell(cell.seq, cell.value)
        for table in Table
        for cell in store.scan_rows(table)
    }
    assert found == cells


def test_a_row_that_is_wider_than_any_answer_is_read_whole(store: Store) -> None:
    batch = Batch()
    names = [b"%05d" % number for number in range(4_500)]
    for name in names:
        batch.put(Table.DOCS, b"x:com.a", b"f", name, name)
        batch.put(Q, b"t:" + ranked(3, b"com.a/" + name), b"", b"", b"3")
    store.write(batch, 1)
    assert [cell.qualifier for cell in store.scan(Table.DOCS, b"x:com.a", b"f")] == names
    assert [cell.qualifier for cell in store.scan(Table.DOCS, b"x:com.a", b"f", reverse=True)] == names[::-1]
    assert [cell.qualifier for cell in store.scan_rows(Table.DOCS)] == names
    assert len(list(store.scan_rows(Q, b"t:"))) == len(names)
    assert len({cell.row for block in store.walk(Q) for cell in block.cells}) == len(names)


COLUMNS = [(Table.LINKS, b"l:", b"domain", b"work"), (Q, b"d:", b"domain", b"pagecount"), (Q, b"p:", b"page", b"score")]


@pytest.mark.parametrize(("table", "prefix", "family", "qualifier"), COLUMNS)
def test_a_column_is_one_cell_of_every_row_that_has_it(
    store: Store, table: Table, prefix: bytes, family: bytes, qualifier: bytes
) -> None:
    batch = Batch()
    names = [b"com.%d" % number for number in range(30)]
    for number, name in enumerate(names):
        for other in (b"a", qualifier + b"\x00", qualifier[:-1]):
            batch.put(table, prefix + name, family, other, b"other")
        batch.put(table, prefix + name, b"link", name + b"/1", b"other")
        batch.put(table, b"s:" + name, family, qualifier, b"other")
        if number % 3:
            batch.put(table, prefix + name, family, qualifier, name)
    store.write(batch, 1)
    wanted = sorted(prefix + name for number, name in enumerate(names) if number % 3)
    found = list(store.column(table, prefix, family, qualifier))
    assert found == [Cell(row, family, qualifier, 1, row[len(prefix) :]) for row in wanted]
    for start in (prefix, b"", wanted[3], wanted[3] + b"\x00", b"zz"):
        rows = [cell.row for cell in store.column(table, prefix, family, qualifier, start=start)]
        assert rows == [row for row in wanted if row >= start]
    assert [cell.row for cell in store.column(table, wanted[0], family, qualifier)] == [
        row for row in wanted if row.startswith(wanted[0])
    ]


@pytest.mark.parametrize(("table", "row"), [(Table.LINKS, b"l:com.a"), (Table.LINKS, b"w:04"), (Q, b"d:com.a")])
def test_a_row_is_read_whole_wherever_its_families_lie(store: Store, table: Table, row: bytes) -> None:
    columns = sorted(
        (family, qualifier)
        for family in (b"domain", b"due", b"entered", b"hosts", b"link", b"new", b"work")
        for qualifier in (b"", b"\x00" * 10 + b"com.a/1", b"\x00" * 10 + b"com.a/2", b"\x01" * 12)
    )
    batch = Batch()
    for column in columns:
        batch.put(table, row, *column, b"v")
    store.write(batch, 1)
    batch = Batch()
    batch.delete(table, row, *columns[0])
    batch.put(table, row, *columns[1], b"w")
    store.write(batch, 2)
    assert [cell[1:3] for cell in store.scan(table, row)] == columns[1:]
    assert [cell[1:3] for cell in store.scan(table, row, reverse=True)] == columns[:0:-1]
    assert [cell[1:3] for cell in store.scan_rows(table)] == columns[1:]
    assert list(store.rows(table)) == [row]
    values = [cell and cell.value for cell in store.get(table, [Column(row, *column) for column in columns[:3]])]
    assert values == [None, b"w", b"v"]
    for family in {family for family, _ in columns}:
        inside = [qualifier for of, qualifier in columns[1:] if of == family]
        assert [cell.qualifier for cell in store.scan(table, row, family)] == inside
        for prefix in (b"", b"\x00", b"\xff"):
            for start in (b"", b"\x00" * 10 + b"com.a/2", b"\xff"):
                forward = store.scan(table, row, family, prefix=prefix, start=start)
                assert [c.qualifier for c in forward] == [q for q in inside if q.startswith(prefix) and q >= start]
                backward = store.scan(table, row, family, prefix=prefix, start=start, reverse=True, limit=2)
                below = [q for q in reversed(inside) if q.startswith(prefix) and q <= start]
                assert [c.qualifier for c in backward] == below[:2]

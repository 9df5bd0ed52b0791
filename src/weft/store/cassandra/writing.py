"""A batch as the requests that write it: one group for each partition, of bounded size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from weft.errors import BatchRefused
from weft.store.api import Column, CopiedCell
from weft.store.cassandra.bands import rank_changes
from weft.store.cassandra.cell_session import Request
from weft.store.cassandra.columns import column_name, stored_in
from weft.store.cassandra.packing import packed
from weft.store.cassandra.placement import Partition, Placement, Ranked, keeps_with_time
from weft.store.cassandra.statements import Statement
from weft.store.encoding import split_key
from weft.store.tables import Table, readable

GROUP_BYTES: Final = 40 << 10
"""The cluster refuses a batch of 50 KiB."""
LARGEST: Final = 7 << 20
"""Bytes of one cell. What is registered must be writable, and a node with a small heap takes no message of 8 MiB."""
_OVERHEAD: Final = 60
"""Bytes of a request beyond its row, column and value."""


class _Sized(NamedTuple):
    partition: Partition
    request: Request
    size: int


def copy_groups(cells: Mapping[bytes, CopiedCell], placement: Placement, lifetime: int) -> Iterator[list[Request]]:
    """For cells with seqs of their own: a request may hold many of them."""
    by_seq: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
    for key, (seq, value) in cells.items():
        by_seq[seq][key] = value
    puts: defaultdict[Partition, list[_Sized]] = defaultdict(list)
    for seq, some in by_seq.items():
        for sized, _ in _requests(some, seq, placement, lifetime):
            puts[sized.partition].append(sized)
    for group in puts.values():
        yield from _split(group)


def write_groups(
    cells: Mapping[bytes, bytes | None], seq: int, placement: Placement, lifetime: int
) -> Iterator[list[Request]]:
    """One group for each partition, over all tables, as far as its size allows; it is taken in whole, so a name that
    moves is never seen twice or not at all there. Everywhere else puts come before deletes: twice is better.

    History vanishes by itself after `lifetime` seconds.
    """
    puts: defaultdict[Partition, list[_Sized]] = defaultdict(list)
    deletes: defaultdict[Partition, list[_Sized]] = defaultdict(list)
    for sized, is_put in _requests(cells, seq, placement, lifetime):
        (puts if is_put else deletes)[sized.partition].append(sized)
    for partition, group in puts.items():
        yield from _split(group + deletes.pop(partition, []))
    for group in deletes.values():
        yield from _split(group)


def _requests(
    cells: Mapping[bytes, bytes | None], seq: int, placement: Placement, lifetime: int
) -> Iterator[tuple[_Sized, bool]]:
    ranked = list[tuple[Ranked, bytes | None]]()
    for key, value in cells.items():
        byte, *parts = split_key(key)
        table, column = Table(byte), Column(*parts)
        found = placement.of_ranked(table, *column)
        if found is not None:
            ranked.append((found, value))
        elif placement.global_ranking(table, column.row[:2]) is not None:
            raise BatchRefused("of the cluster", f"{table.label} {readable(column.row)[:100]} is no place in a ranking")
        elif stored_in(table, column) is table:
            yield _cell(table, column, value, seq, placement, lifetime), value is not None
    put, gone = rank_changes(ranked)
    for each in put:
        request = Request(Statement.PUT_RANK, (seq, each.counted, each.value, *each[:6]))
        yield _Sized(Partition(*each[:2]), request, len(each.name) + _OVERHEAD), True
    for lost in gone:
        request = Request(Statement.DELETE_RANK, (seq, *lost))
        yield _Sized(Partition(*lost[:2]), request, len(lost.name) + _OVERHEAD), False


def _cell(table: Table, column: Column, value: bytes | None, seq: int, placement: Placement, lifetime: int) -> _Sized:
    row, name = table.byte + column.row, column_name(column.family, column.qualifier)
    stored = None if value is None else packed(value)
    size = len(row) + len(name) + len(stored or b"") + _OVERHEAD
    _refuse_large(size, table, column.row)
    place = placement.of_cell(table, *column)
    values: tuple[Any, ...]
    if not keeps_with_time(table):
        values = (seq, *place, row, name) if stored is None else (seq, stored, *place, row, name)
        statement = Statement.DELETE_CELL if stored is None else Statement.PUT_CELL
        return _Sized(place, Request(statement, values), size)
    values = (seq, *place, row, name) if stored is None else (seq, lifetime, stored, *place, row, name)
    statement = Statement.DELETE_HISTORY if stored is None else Statement.PUT_HISTORY
    return _Sized(place, Request(statement, values), size)


def _refuse_large(size: int, table: Table, row: bytes) -> None:
    if size > LARGEST:
        raise BatchRefused(
            "of the cluster",
            f"a cell of {table.label} {readable(row)[:100]} has {size:,} bytes; expected at most {LARGEST:,}",
        )


def _split(group: list[_Sized]) -> Iterator[list[Request]]:
    part, size = list[Request](), 0
    for sized in group:
        if part and size + sized.size > GROUP_BYTES:
            yield part
            part, size = [], 0
        part.append(sized.request)
        size += sized.size
    if part:
        yield part

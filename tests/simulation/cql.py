"""weft's statements, read from their text: what a request writes, and which rows it asks for.

Keys and the order of rows come from the text of the schema. Statements of a form that is not known here are refused,
so that a new one is not played wrongly.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple
from zlib import crc32

from simulation.replica import Clustering, Mutation, Partition, StoredRow
from weft.store.cassandra.cell_session import Request, Row
from weft.store.cassandra.schema import TABLES
from weft.store.cassandra.statements import Statement

_UPDATE: Final = re.compile(r"UPDATE (\w+) USING TIMESTAMP \?( AND TTL \?)? SET (.+?) WHERE (.+)")
_DELETE: Final = re.compile(r"DELETE FROM (\w+) USING TIMESTAMP \? WHERE (.+)")
_SELECT: Final = re.compile(
    # Of several columns that rows are grouped by, the last: the others come before it.
    r"SELECT (.+?) FROM (\w+)(?: WHERE (.+?))?(?: GROUP BY (?:\w+, )*(\w+))?"
    r"(?: ORDER BY (\w+) (ASC|DESC)\b[^?]*)?(?: LIMIT (\d+))?"
)
_CONDITION: Final = re.compile(r"(\w+|\([\w, ]+\)) (=|<|<=|>|>=|IN) \?")
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "IN": lambda one, several: one in several,
}


@dataclass(frozen=True)
class TableKeys:
    partition: tuple[str, ...]
    clustering: tuple[str, ...]
    falling: tuple[bool, ...]
    """Of each clustering column, whether large values come first."""

    def place(self, clustering: Clustering) -> tuple[Any, ...]:
        """By what rows are sorted; only numbers fall."""
        return tuple(-each if falls else each for each, falls in zip(clustering, self.falling, strict=True))


class Condition(NamedTuple):
    columns: tuple[str, ...]
    operator: str
    argument: int
    """Its number among the question marks."""


class Query(NamedTuple):
    table: str
    keys: TableKeys
    columns: tuple[str, ...]
    conditions: tuple[Condition, ...]
    group_by: str | None
    is_backwards: bool
    is_of_ring: bool
    """Whether it asks for a piece of the ring, between two tokens."""
    limit: int | None


@cache
def keys_of(table: str) -> TableKeys:
    text = TABLES[table]
    found = re.search(r"PRIMARY KEY \((?:\(([^)]+)\)|(\w+))(?:, ([^)]+))?\)", text)
    assert found, text
    clustering = tuple((found[3] or "").split(", ")) if found[3] else ()
    return TableKeys(
        partition=tuple((found[1] or found[2]).split(", ")),
        clustering=clustering,
        falling=tuple(f"{column} DESC" in text for column in clustering),
    )


def mutation_of(group: Iterable[Request], now: int) -> Mutation:
    """What the requests of one partition write together: it has the same key in all tables."""
    parts: dict[Partition, dict[Clustering, StoredRow]] = {}
    for request in group:
        partition, clustering, written = _written(request, now)
        rows = parts.setdefault(partition, {})
        rows[clustering] = rows[clustering].merged(written) if clustering in rows else written
    assert len({key for _, key in parts}) == 1, "a group must lie in one partition"
    return Mutation(parts)


def _written(request: Request, now: int) -> tuple[Partition, Clustering, StoredRow]:
    table, columns, key = _write(request.statement)
    values = request.values
    timestamp, named = values[0], values[len(values) - len(key) :]
    if columns:
        put = values[len(values) - len(key) - len(columns) : len(values) - len(key)]
        # The driver leaves None out: the cell stays as it is.
        cells = {column: (timestamp, value) for column, value in zip(columns, put, strict=True) if value is not None}
        row = StoredRow(cells)
    else:
        row = StoredRow({}, timestamp, now)
    size = len(keys_of(table).partition)
    return (table, named[:size]), named[size:], row


@cache
def _write(statement: Statement) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Table, the columns that are put (none: a delete of the row), the columns of the key."""
    if found := _UPDATE.fullmatch(statement.value):
        table, columns, where = found[1], tuple(re.findall(r"(\w+) = \?", found[3])), found[4]
    else:
        found = _DELETE.fullmatch(statement.value)
        assert found, f"not a write that the model knows: {statement.value}"
        table, columns, where = found[1], (), found[2]
    key = tuple(condition.columns[0] for condition in _conditions(where))
    keys = keys_of(table)
    assert key == (*keys.partition, *keys.clustering), f"not one row: {statement.value}"
    return table, columns, key


@cache
def query_of(statement: Statement) -> Query:
    found = _SELECT.fullmatch(statement.value)
    assert found, f"not a read that the model knows: {statement.value}"
    keys = keys_of(found[2])
    is_backwards = False
    if found[5]:
        assert found[5] == keys.clustering[0]
        is_backwards = (found[6] == "DESC") != keys.falling[0]
    columns = tuple(found[1].split(", "))
    token = f"token({', '.join(keys.partition)})"
    is_of_ring = found[3] == f"{token} > ? AND {token} <= ?"
    conditions = () if is_of_ring else _conditions(found[3] or "")
    if conditions:
        named = tuple(each.columns[0] for each in conditions[: len(keys.partition)])
        assert named == keys.partition, f"not one partition: {statement.value}"
    limit = None if found[7] is None else int(found[7])
    return Query(found[2], keys, columns, conditions, found[4], is_backwards, is_of_ring, limit)


def _conditions(where: str) -> tuple[Condition, ...]:
    found = tuple(
        Condition(tuple(each[1].strip("()").split(", ")), each[2], number)
        for number, each in enumerate(_CONDITION.finditer(where))
    )
    assert where.count("?") == len(found), where
    return found


def token_of(partition: Partition) -> int:
    """A place on the ring; the lowest one is nobody's."""
    return (crc32(repr(partition).encode()) << 32) + 1 - (1 << 63)


def partition_of(query: Query, values: tuple[Any, ...]) -> Partition:
    return query.table, values[: len(query.keys.partition)]


def chooser(query: Query, values: tuple[Any, ...]) -> Callable[[Clustering], bool]:
    """Which rows of the partition are asked for."""
    names = query.keys.clustering
    tests = list[tuple[Callable[[Any, Any], bool], tuple[int, ...], Any]]()
    for columns, sign, argument in query.conditions[len(query.keys.partition) :]:
        value = set(values[argument]) if sign == "IN" else values[argument]
        tests.append((_COMPARE[sign], tuple(names.index(column) for column in columns), value))

    if len(tests) == 1 and tests[0][0] is _COMPARE["IN"] and len(tests[0][1]) == len(names):
        asked = {each if len(names) > 1 else (each,) for each in tests[0][2]}
        return asked.__contains__

    def wants(clustering: Clustering) -> bool:
        for compare, places, value in tests:
            one = clustering[places[0]] if len(places) == 1 else tuple(clustering[place] for place in places)
            if not compare(one, value):
                return False
        return True

    return wants


def answered(query: Query, partition: Partition, clustering: Clustering, row: StoredRow) -> Row:
    """The row as it is given to whoever asked."""
    known = dict(zip((*query.keys.partition, *query.keys.clustering), (*partition[1], *clustering), strict=True))
    return tuple(_column(column, known, row) for column in query.columns)


def _column(column: str, known: dict[str, Any], row: StoredRow) -> Any:
    if column in known:
        return known[column]
    if column.startswith("WRITETIME("):
        return row.cells.get(column[10:-1], (None, None))[0]
    return row.cells.get(column, (None, None))[1]

"""The modelled cluster answers as a real one does, statement by statement."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from simulation.calm_store import calm_session
from simulation.cql import keys_of, query_of
from simulation.replica import StoredRow
from support.cassandra_store import empty, shared_session
from weft.store.cassandra.cell_session import Request, Row
from weft.store.cassandra.statements import WRITES, Statement

READS = [statement for statement in Statement if statement not in WRITES]
ROWS = [b"qa", b"qb", b"qc"]
COLUMNS = [b"f\x00\x01", b"f\x00\x01x", b"g\x00\x01"]
NAMES = [b"com.a", b"com.b", b"org.c"]
VALUES: dict[str, Sequence[Any]] = {
    "base": [0, 1],
    "shard": [0, 1],
    "row": ROWS,
    "column": COLUMNS,
    "list": [b"t", b"d"],
    "domain": [b"", b"d:com.a", b"d:com.b"],
    "band": [0, 1, 2, 64],
    "name": NAMES,
    "count": [0, 1, 2, 64, 65],
    "value": [None, b"\x00", b"\x00one", b"\x00two"],
}


def put_or_delete(random: Random, statement: Statement) -> Request:
    """A request with few keys and few timestamps, so that many of them meet."""
    table = statement.value.split()[1 if statement.value.startswith("UPDATE") else 2]
    key = [random.choice(VALUES[name]) for name in (*keys_of(table).partition, *keys_of(table).clustering)]
    values: list[Any] = [random.randrange(1, 6)]
    if "TTL" in statement.value:
        values.append(86_400)
    if statement is Statement.PUT_RANK:
        values += [random.choice(VALUES["count"]), random.choice(VALUES["value"])]
    elif statement.name.startswith("PUT"):
        values.append(random.choice(VALUES["value"][1:]))
    return Request(statement, (*values, *key))


def question(random: Random, statement: Statement) -> Request:
    if query_of(statement).is_of_ring:
        return Request(statement, (-(1 << 63), (1 << 63) - 1))
    values: list[Any] = []
    for columns, sign, _ in query_of(statement).conditions:
        if sign == "IN":
            values.append([(random.choice(ROWS), random.choice(COLUMNS)) for _ in range(4)])
        else:
            values.append(random.choice([*VALUES[columns[0]], *([b"q"] if columns[0] == "row" else [])]))
    return Request(statement, tuple(values))


def comparable(statement: Statement, rows: list[Row]) -> list[tuple[Any, ...]]:
    """Partitions come in an order of their own; whoever asks for one row only wants to know that there is one."""
    if query_of(statement).limit == 1:
        return [()] * len(rows)
    found = [tuple(row) for row in rows]
    return found if query_of(statement).conditions else sorted(found, key=repr)


@pytest.mark.parametrize("seed", range(3))
def test_writes_in_any_order_are_read_as_from_a_real_cluster(cassandra_hosts: tuple[str, ...], seed: int) -> None:
    random = Random(seed)
    real, _ = shared_session(cassandra_hosts)
    empty(real)
    model = calm_session()
    writes = [[put_or_delete(random, random.choice(WRITES))] for _ in range(150)]
    for session in (real, model):
        session.write(writes, lambda: None)
    questions = [question(random, statement) for statement in READS for _ in range(6)]
    for asked, of_real, of_model in zip(questions, real.read(questions), model.read(questions), strict=True):
        assert comparable(asked.statement, of_model) == comparable(asked.statement, of_real), asked


def test_a_delete_wins_a_tie_and_else_the_larger_value_does() -> None:
    one, two, gone = StoredRow({"value": (1, b"a")}), StoredRow({"value": (1, b"b")}), StoredRow({}, 1, 0)
    assert one.merged(two) == two.merged(one) == two
    assert one.merged(gone) == gone.merged(one) == gone
    assert gone.merged(StoredRow({"value": (2, b"a")})).cells == {"value": (2, b"a")}


def test_columns_of_a_row_have_timestamps_of_their_own() -> None:
    row = StoredRow({"count": (1, 5), "value": (1, b"x")}).merged(StoredRow({"count": (2, 6)}))
    assert row.cells == {"count": (2, 6), "value": (1, b"x")}

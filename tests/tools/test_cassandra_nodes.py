"""The real Cassandra that other tests are held against: its rules for timestamps, and a node that is killed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from support.cassandra import connected
from tools.cassandra.cluster import Cluster

_WRITES = 3_000


@contextmanager
def _table(session: Any, replicas: int) -> Iterator[str]:
    """The name of a new table, in a keyspace of its own."""
    keyspace = f"weft_{uuid.uuid4().hex[:12]}"
    strategy = f"{{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    session.execute(f"CREATE KEYSPACE {keyspace} WITH replication = {strategy}")
    session.execute(f"CREATE TABLE {keyspace}.cell (row text, name text, value text, PRIMARY KEY (row, name))")
    yield f"{keyspace}.cell"
    session.execute(f"DROP KEYSPACE {keyspace}")


def test_the_newer_timestamp_wins_and_a_delete_wins_a_tie(cassandra_hosts: tuple[str, ...]) -> None:
    with connected(cassandra_hosts) as session, _table(session, replicas=1) as table:
        put = session.prepare(f"INSERT INTO {table} (row, name, value) VALUES ('r', 'n', ?) USING TIMESTAMP ?")
        delete = session.prepare(f"DELETE FROM {table} USING TIMESTAMP ? WHERE row = 'r' AND name = 'n'")

        session.execute(put, ("new", 20))
        session.execute(put, ("old", 10))
        assert _values(session, table) == {"new"}
        session.execute(delete, (20,))
        assert _values(session, table) == set()
        session.execute(put, ("again", 20))
        assert _values(session, table) == set()
        session.execute(put, ("later", 21))
        assert _values(session, table) == {"later"}


@pytest.mark.long
def test_acknowledged_writes_outlive_a_killed_node_which_comes_back(three_nodes: Cluster) -> None:
    first, second, third = three_nodes.nodes
    with connected(three_nodes.hosts) as session, _table(session, replicas=3) as table:
        put = session.prepare(f"INSERT INTO {table} (row, name, value) VALUES (?, 'n', ?) USING TIMESTAMP ?")
        put.is_idempotent = True
        everything = set(map(str, range(_WRITES)))
        with ThreadPoolExecutor(16) as writers:
            writes = [writers.submit(session.execute, put, (value, value, 1)) for value in everything]
            writes[_WRITES // 3].result()
            second.kill()
            for write in writes:
                write.result()
        assert not second.is_running
        second.wait_until_down()
        assert _values(session, table) == everything

        second.start()
        first.kill()  # so that QUORUM needs the one that came back
        first.wait_until_down()
        assert _values(session, table) == everything
        first.start()
        assert third.nodetool("status").count("UN ") == 3


def _values(session: Any, table: str) -> set[str]:
    return {row.value for row in session.execute(f"SELECT value FROM {table}")}

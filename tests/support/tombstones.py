"""How many tombstones reads of a cluster met, as the cluster itself tells."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from weft.store.cassandra.cluster_session import ClusterSession

_READ = re.compile(r"Read (\d+) live rows and (\d+) tombstone cells")
_EVENTS = SimpleStatement(
    "SELECT activity FROM system_traces.events WHERE session_id = %s", consistency_level=ConsistencyLevel.ONE
)
_TRIES, _PATIENCE, _PAUSE = 8, 3.0, 0.02
"""A busy cluster does not write down every trace: then it is asked again."""


class _Asked(NamedTuple):
    statement: Any
    paging_state: bytes | None
    future: Any


def tombstones_met(session: ClusterSession, read: Callable[[], Any]) -> int:
    """Over all requests that `read` leads to."""
    asked: list[_Asked] = []
    driver = session._session
    plain = driver.execute_async

    def traced(statement: Any, paging_state: bytes | None = None) -> Any:
        future = plain(statement, paging_state=paging_state, trace=True)
        asked.append(_Asked(statement, paging_state, future))
        return future

    driver.execute_async = traced
    try:
        read()
    finally:
        driver.execute_async = plain
    assert asked
    return sum(_met(driver, each) for each in asked)


def _met(driver: Any, asked: _Asked) -> int:
    future = asked.future
    for _ in range(_TRIES):
        future.result()
        told = _told(driver, future._query_traces[0].trace_id)
        if told is not None:
            return told
        future = driver.execute_async(asked.statement, paging_state=asked.paging_state, trace=True)
    raise AssertionError("the cluster keeps no traces")


def _told(driver: Any, trace: Any) -> int | None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        rows = driver.execute(_EVENTS, (trace,))
        found = [match for (text,) in rows if (match := _READ.fullmatch(text))]
        if found:
            return sum(int(match[2]) for match in found)
        time.sleep(_PAUSE)
    return None

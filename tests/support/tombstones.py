"""How many tombstones reads of a cluster met, as the cluster itself tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from cassandra.cluster import ResponseFuture

from weft.store.cassandra.cluster_session import ClusterSession

_READ = re.compile(r"Read (\d+) live rows and (\d+) tombstone cells")
_PATIENCE = 10.0
"""Seconds until the cluster has written down what a request did."""


def tombstones_met(session: ClusterSession, read: Callable[[], Any]) -> int:
    """Over all requests that `read` leads to, each page by itself."""
    asked: list[ResponseFuture] = []
    driver = session._session
    plain = driver.execute_async

    def traced(statement: Any) -> ResponseFuture:
        future = plain(statement, trace=True)
        asked.append(future)
        return future

    driver.execute_async = traced
    try:
        read()
    finally:
        driver.execute_async = plain
    assert asked
    return sum(_met(future) for future in asked)


def _met(future: ResponseFuture) -> int:
    future.result()
    told = [event.description for trace in future.get_all_query_traces(_PATIENCE) for event in trace.events]
    found = [match for text in told if (match := _READ.fullmatch(text))]
    assert found, told
    return sum(int(match[2]) for match in found)

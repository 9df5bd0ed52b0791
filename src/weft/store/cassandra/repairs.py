"""When a cluster was last repaired: what Cassandra itself recorded of its repairs."""

# ruff: noqa: S608 - the keyspace is a name that parse_address has checked

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Final, NamedTuple

from weft.config import Settings
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.opening import open_session
from weft.store.cassandra.schema import GC_GRACE, TABLES, made_at

REPAIR_WITHIN: Final = GC_GRACE - 24 * 3600
"""Seconds between two repairs: a day is left for one to take, and to be late."""
REPAIRED: Final = tuple(sorted(TABLES.keys() - {"notes"}))
_FIRST, _END = -(2**63), 2**63
_WHOLE: Final = {"previewKind": "NONE", "forceRepair": "false", "hosts": "", "pullRepair": "false"}
"""Options of a repair that leaves no replica out. A cluster keeps what it knows of repairs for 30 days."""

Range = tuple[int, int]


class Repair(NamedTuple):
    """One that ended."""

    started: int
    """Milliseconds since 1970: what was written before is repaired."""
    tables: frozenset[str]
    ranges: tuple[Range, ...]
    """Of tokens: above the first, up to the second."""


class LastRepairs(NamedTuple):
    """Moments in milliseconds since 1970."""

    tables: Mapping[str, int | None]
    """When each table was last repaired in whole; None: never."""
    made: int
    """When the keyspace was made."""


def last_repairs(settings: Settings) -> LastRepairs | None:
    """None where each cell has one copy: there is nothing to repair then. Raises StoreError."""
    session = open_session(settings)
    try:
        if _copies(session) < 2:
            return None
        repairs, made = _read(session), made_at(session)
    finally:
        session.close()
    return LastRepairs(
        {table: last_whole(each for each in repairs if table in each.tables) for table in REPAIRED}, made
    )


def last_whole(repairs: Iterable[Repair]) -> int | None:
    """The moment before which everything is repaired: the newest repairs that cover all tokens, by the oldest."""
    covered = list[Range]()
    for each in sorted(repairs, reverse=True):
        covered = _joined([*covered, *(part for whole in each.ranges for part in _straight(whole))])
        if covered == [(_FIRST, _END)]:
            return each.started
    return None


def _copies(session: ClusterSession) -> int:
    name = session.address.keyspace
    ((replication,),) = session.run(f"SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{name}'")
    return sum(int(value) for key, value in replication.items() if key != "class")


def _read(session: ClusterSession) -> list[Repair]:
    # Of one node: the cluster keeps three copies of it even where it has fewer nodes.
    rows = session.run(
        "SELECT keyspace_name, columnfamily_names, started_at, successful_ranges, options "
        "FROM system_distributed.parent_repair_history",
        from_one_node=True,
    )
    return [
        # The driver gives moments of UTC without saying so.
        Repair(round(started.replace(tzinfo=UTC).timestamp() * 1000), frozenset(tables), tuple(map(_range, ranges)))
        for keyspace, tables, started, ranges, options in rows
        if keyspace == session.address.keyspace and tables and ranges and _is_whole(dict(options or {}))
    ]


def _is_whole(options: Mapping[str, str]) -> bool:
    return all(options.get(name, value) == value for name, value in _WHOLE.items())


def _range(text: str) -> Range:
    first, _, last = text.strip("(]").partition(",")
    return int(first), int(last)


def _straight(tokens: Range) -> list[Range]:
    """Without its way around the ring."""
    first, last = tokens
    return [tokens] if first < last else [(first, _END), (_FIRST, last)]


def _joined(ranges: list[Range]) -> list[Range]:
    found = list[Range]()
    for first, last in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        elif first < last:
            found.append((first, last))
    return found

"""Counts and listings, for people who look at the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from weft.config.sections import MgmtSettings
from weft.errors import MgmtError
from weft.mgmt.relations import DOCUMENTED, RELATIONS, TASKS
from weft.mgmt.sql.clock_jumps import jump
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.leases import nodes
from weft.mgmt.values import ArchivedRecord, Counts, LinkState, Node, NodeState, RestingHost, RestingHosts
from weft.model.site import read_settings

_TALLIES: Final = "SELECT name, sum(count) FROM tally GROUP BY name"
# Each is found by an index that holds only such rows: the cost follows what is open, not what there ever was.
_CHUNKS: Final[Mapping[str, str]] = {
    "crawling": "SELECT count(*) FROM crawler WHERE c_task = 'crawling'",
    "crawled": "SELECT count(*) FROM crawler WHERE offered = 1",
    "empty": "SELECT count(*) FROM crawler WHERE c_task = 'crawled' AND finished = 0",
    "building": "SELECT count(*) FROM index_builder WHERE ib_task <> 'built' AND ib_task = 'building'",
    "waiting": "SELECT count(*) FROM index_builder WHERE ib_task = 'waiting' AND waits_until > 0",
    "error": """SELECT count(*) FROM index_builder JOIN crawler ON crawler.chunk_id = index_builder.chunk_id
        WHERE ib_task <> 'built' AND ib_task = 'error' AND offered = 0""",
}

_RESTING_LINKS: Final = "SELECT coalesce(sum(pending), 0) FROM pending_host WHERE pending > 0 AND ready_at > :moment"
_REASON: Final = "CASE WHEN ready_at > :now THEN reason ELSE '' END"
"""A wait that is over has none."""
_RESTING: Final = f"""
SELECT web_host, pending, ready_at - :now, {_REASON} FROM pending_host WHERE pending > 0 AND ready_at > :moment
ORDER BY pending DESC, web_host LIMIT :most
"""  # noqa: S608 - our own columns

_ARCHIVED: Final = """
SELECT "index", warc_file, warc_offset FROM link
WHERE "index" > :after AND warc_file IS NOT NULL ORDER BY "index" LIMIT :limit
"""

_PLACEMENTS: Final = """
SELECT placed."index", placed."row", placed.chunk_id, placed.is_host,
    CASE WHEN built.ib_task = 'built' AND built.seq <= host.acknowledged THEN 'indexed' ELSE 'pending' END
FROM index_server AS placed
JOIN index_builder AS built ON built.chunk_id = placed.chunk_id
JOIN host ON host.host = placed.is_host
WHERE placed."index" > :after ORDER BY placed."index" LIMIT :limit
"""

_OURS: Final[Mapping[str, str]] = {
    "site": "name, scope, is_excluded, seeds, settings FROM site ORDER BY name",
    "robots": "origin, status, length(body), fetched, expires FROM robots ORDER BY origin",
    "address": "web_host, ip, ip_key, expires, reason FROM address ORDER BY web_host",
    "pending_host": f"web_host, pending, ready_at, {_REASON}, rate FROM pending_host ORDER BY web_host",
}


def counts(tx: Transaction, settings: MgmtSettings) -> Counts:
    tallies = {name: int(count) for name, count in tx.rows(_TALLIES)}
    tasks = {task: int(tx.rows(sql)[0][0]) for task, sql in _CHUNKS.items()}
    tasks["built"] = tallies.get("chunk:built", 0)
    late = [node.seen for node in nodes(tx, settings) if node.holds and node.state is not NodeState.OFFLINE]
    return Counts(
        links={state.value: tallies.get(state.value, 0) for state in LinkState},
        chunks={task: tasks[task] for task in TASKS},
        errors=_named(tallies, "error:"),
        statuses=_named(tallies, "status:"),
        oldest_lease=max(late, default=None),
        clock_jump=jump(tx),
    )


def _named(tallies: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in sorted(tallies.items()) if name.startswith(prefix) and n}


def resting_hosts(tx: Transaction, wait: int, most: int = 10) -> RestingHosts:
    moment = tx.now + wait
    links = tx.rows(_RESTING_LINKS, moment=moment)[0][0]
    found = tx.rows(_RESTING, now=tx.now, moment=moment, most=most) if links else []
    return RestingHosts(int(links), [RestingHost(*row) for row in found])


def archived(tx: Transaction, after: int = 0, limit: int = 10_000) -> list[ArchivedRecord]:
    return [ArchivedRecord(*row) for row in tx.rows(_ARCHIVED, after=after, limit=limit)]


def table(tx: Transaction, relation: str, after: int, limit: int, settings: MgmtSettings) -> list[dict[str, object]]:
    if relation not in RELATIONS:
        raise MgmtError(f"there is no relation {relation!r}; expected one of: {', '.join(RELATIONS)}")
    if relation == "host":
        return _hosts([node for node in nodes(tx, settings) if node.id > after][:limit])
    columns = RELATIONS[relation]
    if relation in DOCUMENTED:
        named = ", ".join(f'"{column}"' for column in columns)
        sql = f'SELECT {named} FROM {relation} WHERE "index" > :after ORDER BY "index" LIMIT :limit'  # noqa: S608
        sql = _PLACEMENTS if relation == "index_server" else sql
        return [dict(zip(columns, row, strict=True)) for row in tx.rows(sql, after=after, limit=limit)]
    rows = tx.rows(f"SELECT {_OURS[relation]} LIMIT :limit OFFSET :after", now=tx.now, after=after, limit=limit)
    found = [dict(zip(columns, (after + n, *row), strict=True)) for n, row in enumerate(rows, 1)]
    return [_site(row) for row in found] if relation == "site" else found


def _hosts(found: list[Node]) -> list[dict[str, object]]:
    rows = ((node.id, node.address, node.type, node.state, node.health) for node in found)
    return [dict(zip(RELATIONS["host"], row, strict=True)) for row in rows]


def _site(row: dict[str, object]) -> dict[str, object]:
    seeds = msgspec.json.decode(str(row["seeds"]))
    settings = read_settings(str(row["settings"])).shown()
    return {**row, "seeds": seeds, "settings": settings, "is_excluded": bool(row["is_excluded"])}

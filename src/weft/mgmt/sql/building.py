"""Chunks from crawled to served."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from weft.mgmt import rules
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.leases import alive, check
from weft.mgmt.sql.ledger import Ledger
from weft.mgmt.sql.results import RESULT_COLUMNS, result_of
from weft.mgmt.transitions import Cause, builder_after
from weft.mgmt.values import (
    BuildChunk,
    BuilderTask,
    BuildLink,
    ChunkId,
    Lease,
    LinkState,
    NodeId,
    Placement,
)

_OFFERED: Final = """
SELECT crawler.chunk_id, index_builder.ib_task, COALESCE(index_builder.lost_leases, 0)
FROM crawler LEFT JOIN index_builder ON index_builder.chunk_id = crawler.chunk_id
WHERE crawler.offered = 1 ORDER BY crawler.chunk_id LIMIT :most {skip_crawler}
"""
_GIVE: Final = """
INSERT INTO index_builder (chunk_id, ib_host, ib_task, attempt)
SELECT chunk_id, :address, 'building', 1 FROM {rows chunk_id:int} AS given WHERE true ORDER BY chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET ib_host = excluded.ib_host, ib_task = 'building',
    attempt = index_builder.attempt + 1
RETURNING chunk_id, attempt
"""
_OFFER: Final = "UPDATE crawler SET offered = :offered WHERE chunk_id {in chunks}"
_LINKS: Final = f"""
SELECT chunk_id, "index", uri, link, state, {RESULT_COLUMNS} FROM link WHERE chunk_id {{in chunks}} ORDER BY "index"
"""  # noqa: S608

_ATTEMPT: Final = """
SELECT ib_task, lost_leases, errors FROM index_builder
WHERE chunk_id = :chunk AND ib_host = :address AND attempt = :attempt {lock}
"""
_BUILT: Final = "UPDATE index_builder SET ib_task = 'built', reason = '' WHERE chunk_id = :chunk"
_BUILDING: Final = """
SELECT chunk_id, ib_task, lost_leases, errors FROM index_builder
WHERE ib_host = :address AND ib_task <> 'built' AND ib_task = 'building' ORDER BY chunk_id {lock}
"""
_FAILED: Final = """
UPDATE index_builder SET ib_task = 'error', lost_leases = lost_leases + :lost, errors = errors + :failed,
    reason = CASE WHEN :lost + :failed > 0 THEN :reason ELSE reason END
WHERE chunk_id = :chunk
"""
_IN_ERROR: Final = """
SELECT index_builder.chunk_id FROM index_builder JOIN crawler ON crawler.chunk_id = index_builder.chunk_id
WHERE index_builder.ib_task <> 'built' AND index_builder.ib_task = 'error' AND crawler.offered = 0
ORDER BY index_builder.chunk_id {lock_builder}
"""
_RETRY: Final = "UPDATE index_builder SET errors = 0, lost_leases = 0 WHERE chunk_id {in chunks}"

_SERVERS: Final = """SELECT "index" FROM host WHERE type = 'Index Server' ORDER BY "index" {update}"""
_PLACE: Final = """
INSERT INTO index_server ("row", chunk_id, is_host, number)
SELECT "row", :chunk, host, placed + 1 FROM host WHERE "index" {in servers} ORDER BY "index"
"""
_COUNT_PLACED: Final = """UPDATE host SET placed = placed + 1 WHERE "index" {in servers}"""
_CATCH_UP: Final = """
INSERT INTO index_server ("row", chunk_id, is_host, number)
SELECT host."row", built.chunk_id, host.host, ROW_NUMBER() OVER (ORDER BY built.chunk_id)
FROM host CROSS JOIN index_builder AS built
WHERE host."index" = :server AND host.placed = 0 AND built.ib_task = 'built' ORDER BY built.chunk_id
"""
_CAUGHT_UP: Final = """
UPDATE host SET placed = (SELECT count(*) FROM index_server WHERE is_host = host.host) WHERE "index" = :server
"""
_NEXT: Final = "SELECT chunk_id FROM index_server WHERE is_host = :address AND number = :number"
_ACKNOWLEDGE: Final = """
UPDATE host SET acknowledged = CASE WHEN :number < placed THEN :number ELSE placed END
WHERE "index" = :server AND acknowledged < :number
"""


def take_crawled(tx: Transaction, builder: Lease, most: int) -> list[BuildChunk]:
    alive(tx, builder)
    chosen = _chosen(tx.rows(_OFFERED, most=max(most, 0)))
    if not chosen:
        return []
    attempts: dict[ChunkId, int] = dict(tx.rows(_GIVE, address=builder.address, rows=[[chunk] for chunk in chosen]))
    tx.run(_OFFER, offered=0, chunks=chosen)
    links = _links(tx, chosen)
    return [BuildChunk(chunk, attempts[chunk], links[chunk]) for chunk in chosen]


def _chosen(offered: Sequence[tuple[ChunkId, str | None, int]]) -> list[ChunkId]:
    """A chunk that may be what kills builders goes alone."""
    if offered and offered[0][2] >= rules.ALONE_AFTER:
        offered = offered[:1]
    else:
        offered = [row for row in offered if row[2] < rules.ALONE_AFTER]
    for chunk, task, _ in offered:
        builder_after(None if task is None else BuilderTask(task), Cause.TAKE, chunk)
    return [chunk for chunk, _, _ in offered]


def _links(tx: Transaction, chunks: Sequence[ChunkId]) -> dict[ChunkId, list[BuildLink]]:
    found: dict[ChunkId, list[BuildLink]] = defaultdict(list)
    for chunk, doc_id, uri, url, state, *result in tx.rows(_LINKS, chunks=list(chunks)):
        known = result_of(doc_id, tuple(result))
        found[chunk].append(BuildLink(doc_id=doc_id, uri=uri, url=url, state=LinkState(state), result=known))
    return found


def built(tx: Transaction, ledger: Ledger, builder: Lease, chunk: ChunkId, attempt: int) -> bool:
    alive(tx, builder)
    found = tx.rows(_ATTEMPT, chunk=chunk, address=builder.address, attempt=attempt)
    task = BuilderTask(found[0][0]) if found else None
    if task is BuilderTask.BUILDING:
        task = builder_after(task, Cause.BUILD, chunk)
        tx.run(_BUILT, chunk=chunk)
        ledger.built()
        _place(tx, chunk)
    return task is BuilderTask.BUILT


def _place(tx: Transaction, chunk: ChunkId) -> None:
    """On every index server of every row; numbers rise without gaps because the servers are locked."""
    servers = [row[0] for row in tx.rows(_SERVERS)]
    if servers:
        tx.run(_PLACE, chunk=chunk, servers=servers)
        tx.run(_COUNT_PLACED, servers=servers)


def catch_up(tx: Transaction, server: NodeId) -> None:
    """A new index server gets everything that was built before it came."""
    tx.run(_CATCH_UP, server=server)
    tx.run(_CAUGHT_UP, server=server)


def build_failed(tx: Transaction, builder: Lease, chunk: ChunkId, attempt: int, reason: str) -> bool:
    alive(tx, builder)
    found = tx.rows(_ATTEMPT, chunk=chunk, address=builder.address, attempt=attempt)
    task = BuilderTask(found[0][0]) if found else None
    if task is BuilderTask.BUILDING:
        task = _fail(tx, (chunk, *found[0]), Cause.FAIL, reason)
    return task is BuilderTask.ERROR


def offer_again(tx: Transaction, address: str, cause: Cause, reason: str) -> None:
    """All chunks that a builder had in hand."""
    for row in tx.rows(_BUILDING, address=address):
        _fail(tx, row, cause, reason)


def _fail(tx: Transaction, held: tuple[ChunkId, str, int, int], cause: Cause, reason: str) -> BuilderTask:
    chunk, task, lost_leases, errors = held
    after = builder_after(BuilderTask(task), cause, chunk)
    lost, failed = int(cause is Cause.LEASE_END), int(cause is Cause.FAIL)
    tx.run(_FAILED, chunk=chunk, lost=lost, failed=failed, reason=reason)
    may_go_on = lost_leases + lost < rules.MOST_LOST_LEASES and errors + failed < rules.MOST_BUILD_ERRORS
    tx.run(_OFFER, offered=int(may_go_on), chunks=[chunk])
    return after


def retry(tx: Transaction, wanted: Sequence[ChunkId] | None) -> int:
    found: list[ChunkId] = [row[0] for row in tx.rows(_IN_ERROR)]
    chunks = found if wanted is None else sorted(set(found).intersection(wanted))
    for chunk in chunks:
        builder_after(BuilderTask.ERROR, Cause.RETRY, chunk)
    if chunks:
        tx.run(_RETRY, chunks=chunks)
        tx.run(_OFFER, offered=1, chunks=chunks)
    return len(chunks)


def next_placement(tx: Transaction, server: Lease, after: int) -> Placement | None:
    check(tx, server)
    found = tx.rows(_NEXT, address=server.address, number=after + 1)
    return Placement(after + 1, found[0][0]) if found else None


def acknowledge(tx: Transaction, server: Lease, number: int) -> None:
    alive(tx, server)
    tx.run(_ACKNOWLEDGE, server=server.node, number=number)

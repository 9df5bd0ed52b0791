"""Chunks: made, sealed, given to builders, and built."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from weft.mgmt.rules.chunks import (
    LONGEST_RECORDS_WAIT,
    SEALED_MOST,
    crowding_of,
    goes_alone,
    may_be_offered,
    waited_for_builders,
)
from weft.mgmt.rules.transitions import Cause, builder_after
from weft.mgmt.sql.counters import CounterChanges
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.index_servers import forget_acknowledged, place
from weft.mgmt.sql.leases import alive
from weft.mgmt.sql.result_columns import SELECTED, read_result
from weft.mgmt.values import (
    BuildChunk,
    BuilderTask,
    BuildLink,
    BuildQueue,
    BuiltLink,
    ChunkId,
    DocId,
    Lease,
    LinkState,
    NodeType,
)
from weft.model.original import Original

_NEW: Final = "INSERT INTO chunk DEFAULT VALUES RETURNING id"

_UNFINISHED: Final = """
SELECT chunk_id FROM crawler WHERE c_host = :address AND c_task = 'crawling' AND finished > 0 ORDER BY chunk_id {lock}
"""
_FINISHED_LINKS: Final = """
SELECT "index", chunk_id FROM link WHERE chunk_id {in chunks} AND state <> 'crawling' ORDER BY "index" {skip}
"""
_MOVE: Final = """UPDATE link SET chunk_id = :chunk WHERE "index" {in ids}"""
_SEALED: Final = """
INSERT INTO crawler (chunk_id, c_host, c_task, crawling, finished, offered)
VALUES (:chunk, :address, 'crawled', 0, :finished, 1)
"""

_OFFERED: Final = """
SELECT crawler.chunk_id, index_builder.ib_task, COALESCE(index_builder.lost_leases, 0),
    COALESCE(index_builder.waiting_since, 0)
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
_BUILD_LINK: Final = f'"index", uri, link, state, priority, known_original, {SELECTED}'
_LINKS: Final = f"""
SELECT chunk_id, {_BUILD_LINK} FROM link WHERE chunk_id {{in chunks}} ORDER BY "index"
"""  # noqa: S608
_BUILT_LINKS: Final = f"""
SELECT chunk_id, seq, {_BUILD_LINK} FROM (
    SELECT link.*, built.seq FROM link CROSS JOIN index_builder AS built
    WHERE link.kind = 'page' AND link.uri > :after AND link.state <> 'crawling'
        AND built.chunk_id = link.chunk_id AND built.ib_task = 'built'
    ORDER BY link.uri LIMIT :limit) AS found
ORDER BY uri
"""  # noqa: S608

_WAIT: Final = """
UPDATE index_builder SET ib_task = 'waiting', waits_for = :node, waits_until = :until,
    waiting_since = CASE WHEN waiting_since = 0 THEN :now ELSE waiting_since END
WHERE chunk_id = :chunk
"""
_HAVE_WAITED: Final = """
UPDATE index_builder SET waits_until = 0
WHERE ib_task = 'waiting' AND waits_until > 0 AND (waits_until <= :now OR waits_until > :too_late) RETURNING chunk_id
"""
_BACK: Final = """
UPDATE index_builder SET waits_until = 0
WHERE ib_task = 'waiting' AND waits_until > 0 AND (waits_for = :node OR :node = '') RETURNING chunk_id
"""

_ONLINE: Final = "SELECT seen, figures FROM host WHERE type = :type AND state = 'online'"
_UNBUILT: Final = """
SELECT chunk.id FROM chunk LEFT JOIN index_builder ON index_builder.chunk_id = chunk.id
WHERE chunk.id {in chunks} AND (ib_task IS NULL OR ib_task <> 'built')
"""
_WAITING: Final = "SELECT COALESCE(sum(finished), 0), min(chunk_id) FROM crawler WHERE offered = 1"
_UNSEALED: Final = "SELECT COALESCE(sum(finished), 0) FROM crawler WHERE c_task = 'crawling' AND finished > 0"
_LAST_END: Final = "SELECT COALESCE(max(ended), 0) FROM link WHERE chunk_id = :chunk"

_ATTEMPT: Final = """
SELECT chunk_id, ib_task, lost_leases, errors FROM index_builder
WHERE chunk_id = :chunk AND ib_host = :address AND attempt = :attempt {lock}
"""
_BUILT: Final = "UPDATE index_builder SET ib_task = 'built', reason = '', seq = :seq WHERE chunk_id = :chunk"
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

_LACKING: Final = "ib_task = 'built' AND (seq > :after OR chunk_id {in chunks})"
_OFFER_BUILT: Final = f"""
UPDATE crawler SET offered = 1 WHERE chunk_id IN (SELECT chunk_id FROM index_builder WHERE {_LACKING})
"""  # noqa: S608
_BUILT_AGAIN: Final = f"""
UPDATE index_builder SET ib_task = 'error', errors = 0, lost_leases = 0 WHERE {_LACKING}
"""  # noqa: S608


def new_chunk(tx: Transaction) -> ChunkId:
    ((chunk,),) = tx.rows(_NEW)
    return ChunkId(chunk)


def seal_finished(tx: Transaction, counters: CounterChanges, crawler: Lease) -> int:
    alive(tx, crawler)
    chunks = [chunk for (chunk,) in tx.rows(_UNFINISHED, address=crawler.address)]
    finished = tx.rows(_FINISHED_LINKS, chunks=chunks) if chunks else []
    for chunk, count in Counter(chunk for _, chunk in finished).items():
        counters.moved_on(chunk, count)
    for start in range(0, len(finished), SEALED_MOST):
        some = [doc_id for doc_id, _ in finished[start : start + SEALED_MOST]]
        sealed = new_chunk(tx)
        tx.run(_SEALED, chunk=sealed, address=crawler.address, finished=len(some))
        tx.run(_MOVE, chunk=sealed, ids=some)
    return len(finished)


def take_crawled(tx: Transaction, builder: Lease, most: int = 5) -> list[BuildChunk]:
    alive(tx, builder)
    _offer(tx, tx.rows(_HAVE_WAITED, now=tx.now, too_late=tx.now + LONGEST_RECORDS_WAIT))
    offered = [_Offered(*row) for row in tx.rows(_OFFERED, most=max(most, 0))]
    chosen = _chosen(offered)
    if not chosen:
        return []
    waited = {one.chunk: max(0, tx.now - one.waiting_since) for one in offered if one.waiting_since}
    attempts: dict[ChunkId, int] = dict(tx.rows(_GIVE, address=builder.address, rows=[[chunk] for chunk in chosen]))
    tx.run(_OFFER, offered=0, chunks=chosen)
    links = _links(tx, chosen)
    return [BuildChunk(chunk, attempts[chunk], links[chunk], waited.get(chunk, 0)) for chunk in chosen]


def _offer(tx: Transaction, rows: Sequence[Row]) -> int:
    if rows:
        tx.run(_OFFER, offered=1, chunks=sorted(chunk for (chunk,) in rows))
    return len(rows)


def wait_for_records(tx: Transaction, builder: Lease, chunk: ChunkId, attempt: int, node: str, wait: int) -> bool:
    alive(tx, builder)
    held = _lock_attempt(tx, builder, chunk, attempt)
    if held is not None and held.task is BuilderTask.BUILDING:
        builder_after(held.task, Cause.WAIT, chunk)
        until = tx.now + min(max(wait, 1), LONGEST_RECORDS_WAIT)
        tx.run(_WAIT, chunk=chunk, node=node, until=until, now=tx.now)
        return True
    return held is not None and held.task is BuilderTask.WAITING


def records_back(tx: Transaction, builder: Lease, node: str = "") -> int:
    alive(tx, builder)
    return _offer(tx, tx.rows(_BACK, node=node))


def unbuilt(tx: Transaction, chunks: Sequence[ChunkId]) -> set[ChunkId]:
    return {chunk for (chunk,) in tx.rows(_UNBUILT, chunks=list(chunks))} if chunks else set()


def build_queue(tx: Transaction) -> BuildQueue:
    online = tx.rows(_ONLINE, type=NodeType.INDEX_BUILDER.value)
    if not online:
        return BuildQueue()
    ((waiting, first),) = tx.rows(_WAITING)
    ((unsealed,),) = tx.rows(_UNSEALED)
    since = 0 if first is None else tx.rows(_LAST_END, chunk=first)[0][0]
    told = [(seen, msgspec.json.decode(figures)) for seen, figures in online]
    waited = waited_for_builders(since, tx.now, told) if since else 0
    return BuildQueue(int(waiting) + int(unsealed), waited, crowding_of(figures for _, figures in told))


class _Offered(NamedTuple):
    chunk: ChunkId
    task: str | None
    lost_leases: int
    waiting_since: int


def _chosen(offered: Sequence[_Offered]) -> list[ChunkId]:
    """A chunk that may be what kills builders goes alone."""
    if offered and goes_alone(offered[0].lost_leases):
        offered = offered[:1]
    else:
        offered = [one for one in offered if not goes_alone(one.lost_leases)]
    for one in offered:
        builder_after(None if one.task is None else BuilderTask(one.task), Cause.TAKE, one.chunk)
    return [one.chunk for one in offered]


def _links(tx: Transaction, chunks: Sequence[ChunkId]) -> dict[ChunkId, list[BuildLink]]:
    found: dict[ChunkId, list[BuildLink]] = defaultdict(list)
    for chunk, *row in tx.rows(_LINKS, chunks=list(chunks)):
        found[chunk].append(_build_link(*row))
    return found


def _build_link(doc_id: DocId, uri: str, url: str, state: str, priority: int, original: str, *result: Any) -> BuildLink:
    return BuildLink(
        doc_id=doc_id,
        uri=uri,
        url=url,
        state=LinkState(state),
        result=read_result(doc_id, result),
        priority=priority,
        asked=Original.decode(original),
    )


def built(tx: Transaction, counters: CounterChanges, builder: Lease, chunk: ChunkId, attempt: int, seq: int) -> bool:
    alive(tx, builder)
    held = _lock_attempt(tx, builder, chunk, attempt)
    if held is not None and held.task is BuilderTask.BUILDING:
        builder_after(held.task, Cause.BUILD, chunk)
        tx.run(_BUILT, chunk=chunk, seq=seq)
        counters.built()
        place(tx, chunk)
        return True
    return held is not None and held.task is BuilderTask.BUILT


class _Held(NamedTuple):
    """A chunk in a builder's hands."""

    chunk: ChunkId
    task: BuilderTask
    lost_leases: int
    errors: int


def _lock_attempt(tx: Transaction, builder: Lease, chunk: ChunkId, attempt: int) -> _Held | None:
    found = tx.rows(_ATTEMPT, chunk=chunk, address=builder.address, attempt=attempt)
    return _held(found[0]) if found else None


def _held(row: Row) -> _Held:
    chunk, task, lost_leases, errors = row
    return _Held(chunk, BuilderTask(task), lost_leases, errors)


def build_failed(tx: Transaction, builder: Lease, chunk: ChunkId, attempt: int, reason: str) -> bool:
    alive(tx, builder)
    held = _lock_attempt(tx, builder, chunk, attempt)
    if held is not None and held.task is BuilderTask.BUILDING:
        _offer_again(tx, held, Cause.FAIL, reason)
        return True
    return held is not None and held.task is BuilderTask.ERROR


def offer_again(tx: Transaction, address: str, cause: Cause, reason: str) -> None:
    """All chunks that a builder had in hand."""
    for row in tx.rows(_BUILDING, address=address):
        _offer_again(tx, _held(row), cause, reason)


def _offer_again(tx: Transaction, held: _Held, cause: Cause, reason: str) -> None:
    builder_after(held.task, cause, held.chunk)
    lost, failed = int(cause is Cause.LEASE_END), int(cause is Cause.FAIL)
    tx.run(_FAILED, chunk=held.chunk, lost=lost, failed=failed, reason=reason)
    is_offered = may_be_offered(held.lost_leases + lost, held.errors + failed)
    tx.run(_OFFER, offered=int(is_offered), chunks=[held.chunk])


def retry(tx: Transaction, chunks: Sequence[ChunkId] | None = None) -> int:
    found: list[ChunkId] = [chunk for (chunk,) in tx.rows(_IN_ERROR)]
    chosen = found if chunks is None else sorted(set(found).intersection(chunks))
    for chunk in chosen:
        builder_after(BuilderTask.ERROR, Cause.RETRY, chunk)
    if chosen:
        tx.run(_RETRY, chunks=chosen)
        tx.run(_OFFER, offered=1, chunks=chosen)
    return len(chosen)


def built_links(tx: Transaction, after: str = "", limit: int = 1000) -> list[BuiltLink]:
    rows = tx.rows(_BUILT_LINKS, after=after, limit=limit)
    return [BuiltLink(chunk, seq, _build_link(*row)) for chunk, seq, *row in rows]


def offer_built(tx: Transaction, counters: CounterChanges, after: int = -1, chunks: Sequence[ChunkId] = ()) -> int:
    builder_after(BuilderTask.BUILT, Cause.BUILD_AGAIN)
    chosen = list(chunks)
    offered = tx.run(_OFFER_BUILT, after=after, chunks=chosen)
    tx.run(_BUILT_AGAIN, after=after, chunks=chosen)
    counters.lost_built(offered)
    forget_acknowledged(tx)
    return offered

"""How fetches ended: taken once each, in any order; an error puts another link into its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from weft.mgmt import rules
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.ledger import Ledger, lock_chunks
from weft.mgmt.sql.replacements import replace
from weft.mgmt.transitions import Cause, link_after
from weft.mgmt.values import (
    ChunkId,
    ClaimedLink,
    DocId,
    LinkKind,
    LinkState,
    NodeId,
    Outcome,
    Result,
    WarcPosition,
)

RESULT_COLUMNS: Final = """result_claim, status, error, warc_node, warc_file, warc_offset, warc_length, started, ended,
    size, retry_after, etag, last_modified, location, content_type"""

_LINKS: Final = f"""
SELECT "index", kind, uri, web_host, state, chunk_id, node, claim, losses, {RESULT_COLUMNS}
FROM link WHERE "index" {{in ids}} ORDER BY "index" {{lock}}
"""  # noqa: S608 - a constant

_LOCK_HOLDERS: Final = """
SELECT "index" FROM host WHERE "index" IN (SELECT node FROM link WHERE "index" {in ids}) ORDER BY "index" {share}
"""

# The links are locked and were seen to be crawling. Said again here, that would lead PostgreSQL to look for each one
# among all that are crawling.
_FINISH: Final = """
UPDATE link SET state = given.state, node = NULL, losses = 0,
    replacement = given.replacement, replacement_claim = given.replacement_claim, result_claim = link.claim,
    status = given.status, error = given.error, warc_node = given.warc_node, warc_file = given.warc_file,
    warc_offset = given.warc_offset, warc_length = given.warc_length, started = given.started, ended = given.ended,
    size = given.size, retry_after = given.retry_after, etag = given.etag, last_modified = given.last_modified,
    location = given.location, content_type = given.content_type {from}
WHERE link."index" = given.doc_id AND link.claim = given.claim
"""

_FINISHED: Final = """doc_id:int claim:int state:text replacement:int replacement_claim:int status:int error:text
    warc_node:text warc_file:text warc_offset:int warc_length:int started:int ended:int size:int retry_after:int
    etag:text last_modified:text location:text content_type:text"""

_KEEP_ROBOTS: Final = """
INSERT INTO robots (origin, status, body, fetched, expires) VALUES (:origin, :status, :body, :fetched, :expires)
ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body, fetched = excluded.fetched,
    expires = excluded.expires
"""

_OUTCOMES: Final = """
SELECT failed."index", failed.claim, failed.state, failed.status, failed.error, failed.retry_after, failed.location,
    failed.started, failed.ended, failed.replacement, other.link, other.web_host, failed.replacement_claim
FROM link AS failed LEFT JOIN link AS other ON other."index" = failed.replacement
WHERE failed."index" {in ids}
"""

FINISHED: Final = (LinkState.CRAWLED, LinkState.ERROR)


class KnownLink(NamedTuple):
    doc_id: DocId
    kind: LinkKind
    uri: str
    web_host: str
    state: LinkState
    chunk_id: ChunkId | None
    node: NodeId | None
    claim: int
    losses: int
    result: Row

    @property
    def is_robots(self) -> bool:
        return self.kind is LinkKind.ROBOTS

    @property
    def ended(self) -> int:
        return int(self.result[8])


def lock_links(tx: Transaction, doc_ids: Iterable[DocId]) -> dict[DocId, KnownLink]:
    found = tx.rows(_LINKS, ids=sorted(set(doc_ids)))
    return {
        doc_id: KnownLink(
            doc_id, LinkKind(kind), uri, host, LinkState(state), chunk, node, claim, losses, tuple(result)
        )
        for doc_id, kind, uri, host, state, chunk, node, claim, losses, *result in found
    }


def report(tx: Transaction, ledger: Ledger, results: Sequence[Result], holder: NodeId | None = None) -> list[bool]:
    """With a holder, only for links that this node holds."""
    doc_ids = [result.doc_id for result in results]
    if any(result.position is None for result in results):
        # A crawler that takes a replacement must not lose its lease meanwhile.
        tx.rows(_LOCK_HOLDERS, ids=sorted(set(doc_ids)))
    known = lock_links(tx, doc_ids)
    taken: dict[DocId, Result] = {}
    answers = []
    for result in map(rules.as_kept, results):
        link = known.get(result.doc_id)
        if link is not None and result.doc_id not in taken and _is_due(link, result, holder):
            taken[result.doc_id] = result
        answers.append(link is not None and taken.get(result.doc_id, _stored(link)) == result)
    bodies = {result.doc_id: result.body for result in results}
    finish(tx, ledger, [(known[doc_id], result) for doc_id, result in taken.items()])
    _keep_robots(tx, [(known[doc_id], result, bodies[doc_id]) for doc_id, result in taken.items()])
    return answers


def _is_due(link: KnownLink, result: Result, holder: NodeId | None) -> bool:
    return link.state is LinkState.CRAWLING and link.claim == result.claim and holder in (None, link.node)


def _stored(link: KnownLink) -> Result | None:
    """What is remembered of this claim."""
    return result_of(link.doc_id, link.result) if link.result[0] == link.claim else None


def finish(tx: Transaction, ledger: Ledger, ended: Sequence[tuple[KnownLink, Result]]) -> None:
    """Store results of links that are crawling and locked, and replace those that failed."""
    lock_chunks(tx, [link.chunk_id for link, _ in ended if link.chunk_id is not None])
    states = {link.doc_id: _state_after(link, result) for link, result in ended}
    failed = []
    for link, result in ended:
        if result.retry_after:
            # With the result, so that whoever dies next, the web host is not asked too early.
            ledger.deferred(link.web_host, rules.asked_again(result, tx.now))
        if link.chunk_id is not None:
            ledger.finished(link.chunk_id, states[link.doc_id], result.error)
            if result.position is None and link.node is not None:
                failed.append((link.doc_id, link.node, link.chunk_id, link.web_host, result.error))
    replacements = replace(tx, ledger, failed)
    rows = [_row(result, states[link.doc_id], replacements.get(link.doc_id)) for link, result in ended]
    if rows:
        tx.change(_FINISH, _FINISHED, rows)


def _state_after(link: KnownLink, result: Result) -> LinkState:
    cause = Cause.ARCHIVE if result.position else Cause.FAIL
    return link_after(link.state, cause, link.doc_id, is_robots=link.is_robots)


def _row(result: Result, state: LinkState, replacement: ClaimedLink | None) -> list[object]:
    position = msgspec.structs.astuple(result.position) if result.position else (None,) * 4
    instead = (replacement.doc_id, replacement.claim) if replacement else (None, None)
    numbers = (result.started, result.ended, result.size, result.retry_after)
    texts = (result.etag, result.last_modified, result.location, result.content_type)
    return [result.doc_id, result.claim, state, *instead, result.status, result.error, *position, *numbers, *texts]


def result_of(doc_id: DocId, columns: Row) -> Result:
    """From RESULT_COLUMNS."""
    claim, status, error, node, file, offset, length, started, ended, size, retry_after, *texts = columns
    return Result(
        doc_id=doc_id,
        claim=claim,
        status=status,
        error=error,
        position=None if node is None else WarcPosition(node, file, offset, length),
        started=started,
        ended=ended,
        size=size,
        retry_after=retry_after,
        etag=texts[0],
        last_modified=texts[1],
        location=texts[2],
        content_type=texts[3],
    )


def _keep_robots(tx: Transaction, ended: Iterable[tuple[KnownLink, Result, bytes]]) -> None:
    for link, result, body in ended:
        if link.is_robots:
            expires = rules.robots_expiry(result, tx.now)
            tx.run(_KEEP_ROBOTS, origin=link.uri, status=result.status, body=body, fetched=tx.now, expires=expires)


def outcomes(tx: Transaction, doc_ids: Sequence[DocId]) -> dict[DocId, Outcome]:
    return {row[0]: _outcome(row) for row in tx.rows(_OUTCOMES, ids=sorted(set(doc_ids)))}


def _outcome(row: Row) -> Outcome:
    doc_id, claim, state = row[0], row[1], LinkState(row[2])
    if state not in FINISHED:
        return Outcome(doc_id=doc_id, claim=claim, state=state)
    status, error, retry_after, location, started, ended, other, url, web_host, other_claim = row[3:]
    return Outcome(
        doc_id=doc_id,
        claim=claim,
        state=state,
        status=status,
        error=error,
        retry_after=retry_after,
        location=location,
        started=started,
        ended=ended,
        replacement=None if other is None else ClaimedLink(other, url, web_host, other_claim),
    )

"""How fetches ended: each result is taken once, in any order; an error puts another link into its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from weft.clock import Clock
from weft.errors import MgmtError
from weft.mgmt.rules.results import (
    MOST_LOSSES,
    as_kept,
    by_our_clock,
    errors_of,
    is_same,
    robots_expiry,
    wait_until,
    why_wait,
)
from weft.mgmt.rules.transitions import Cause, link_after
from weft.mgmt.sql.claims import FailedLink, replace
from weft.mgmt.sql.counters import CounterChanges, lock_chunks
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.sql.links import KnownLink, give_back, lock_links
from weft.mgmt.sql.result_columns import ASSIGNMENTS, GIVEN, columns_for, values_for, write_result
from weft.mgmt.sql.web_hosts import save_robots
from weft.mgmt.values import ClaimedLink, DocId, Lease, LinkState, NodeId, Outcome, Result, Robots
from weft.model.fetch_error import FetchError

_LOCK_HOLDERS: Final = """
SELECT "index" FROM host WHERE "index" IN (SELECT node FROM link WHERE "index" {in ids}) ORDER BY "index" {share}
"""

# The links are locked and were seen to be crawling. A second test for that here would lead PostgreSQL to look for each
# one among all that are crawling.
_FINISH: Final = f"""
UPDATE link SET state = given.state, node = NULL, losses = 0, replacement = given.replacement,
    replacement_claim = given.replacement_claim, {ASSIGNMENTS} {{from}}
WHERE link."index" = given.doc_id AND link.claim = given.claim
"""  # noqa: S608 - our own columns
_FINISHED: Final = f"doc_id:int claim:int state:text replacement:int replacement_claim:int {GIVEN}"

_KNOWN: Final = """SELECT "index" FROM link WHERE "index" {in ids}"""

_OUTCOMES: Final = f"""
SELECT failed."index", failed.claim, failed.state, failed.replacement, failed.replacement_claim, other.link,
    other.web_host, {columns_for(Outcome, "failed")}
FROM link AS failed LEFT JOIN link AS other ON other."index" = failed.replacement
WHERE failed."index" {{in ids}}
"""  # noqa: S608


def report(
    tx: Transaction, counters: CounterChanges, results: Sequence[Result], clock: Clock | None = None
) -> list[bool]:
    return take_results(tx, counters, by_our_clock(results, clock, tx.now), None)


def take_results(
    tx: Transaction, counters: CounterChanges, results: Sequence[Result], holder: NodeId | None
) -> list[bool]:
    """With a holder, only for links that this node holds."""
    doc_ids = [result.doc_id for result in results]
    if any(result.position is None for result in results):
        # A crawler that takes a replacement must not lose its lease meanwhile.
        tx.rows(_LOCK_HOLDERS, ids=sorted(set(doc_ids)))
    known = lock_links(tx, doc_ids)
    taken: dict[DocId, Result] = {}
    answers = []
    for result in (as_kept(result, tx.now) for result in results):
        link = known.get(result.doc_id)
        if link is not None and result.doc_id not in taken and _is_due(link, result, holder):
            taken[result.doc_id] = result
        answers.append(link is not None and is_same(taken.get(result.doc_id) or _stored(link), result))
    bodies = {result.doc_id: result.body for result in results}
    finish(tx, counters, [(known[doc_id], result) for doc_id, result in taken.items()])
    _keep_robots(tx, [(known[doc_id], result, bodies[doc_id]) for doc_id, result in taken.items()])
    return answers


def _is_due(link: KnownLink, result: Result, holder: NodeId | None) -> bool:
    return link.state is LinkState.CRAWLING and link.claim == result.claim and holder in (None, link.node)


def _stored(link: KnownLink) -> Result | None:
    """What is remembered of this claim."""
    result = link.result
    return result if result.claim == link.claim else None


def finish(tx: Transaction, counters: CounterChanges, ended: Sequence[tuple[KnownLink, Result]]) -> None:
    """Store results of links that are crawling and locked, and replace those that failed."""
    lock_chunks(tx, [link.chunk_id for link, _ in ended if link.chunk_id is not None])
    states = {link.doc_id: _state_after(link, result) for link, result in ended}
    failed = []
    for link, result in ended:
        if result.retry_after:
            # With the result, so that whoever dies next, the web host is not asked too early.
            until = wait_until(result, tx.now)
            counters.deferred(link.web_host, until, why_wait(result, is_robots=link.is_robots), asked=until)
        if link.chunk_id is not None:
            counters.finished(link.chunk_id, states[link.doc_id], result)
            if result.position is None and link.node is not None:
                failed.append(FailedLink(link.doc_id, link.node, link.chunk_id, link.web_host, result.error))
    replacements = replace(tx, counters, failed)
    rows = [_row(result, states[link.doc_id], replacements.get(link.doc_id)) for link, result in ended]
    if rows:
        tx.change(_FINISH, _FINISHED, rows)


def _state_after(link: KnownLink, result: Result) -> LinkState:
    cause = Cause.ARCHIVE if result.position else Cause.FAIL
    return link_after(link.state, cause, link.doc_id, is_robots=link.is_robots)


def _row(result: Result, state: LinkState, replacement: ClaimedLink | None) -> list[object]:
    instead = (replacement.doc_id, replacement.claim) if replacement else (None, None)
    return [result.doc_id, result.claim, state, *instead, *write_result(result)]


def _keep_robots(tx: Transaction, ended: Iterable[tuple[KnownLink, Result, bytes]]) -> None:
    found = [
        Robots(
            origin=link.uri,
            status=result.status,
            body=body,
            fetched=tx.now,
            expires=robots_expiry(result, tx.now),
            error=result.error,
        )
        for link, result, body in ended
        if link.is_robots
    ]
    save_robots(tx, found)


def lost(
    tx: Transaction, counters: CounterChanges, crawler: Lease, links: Sequence[tuple[DocId, int]]
) -> list[Outcome]:
    alive(tx, crawler)
    known = lock_links(tx, [doc_id for doc_id, _ in links])
    ours = {
        doc_id: link
        for doc_id, claim in links
        if (link := known.get(doc_id)) and link.is_held_by(crawler.node) and link.claim == claim
    }
    over = [link for link in ours.values() if link.losses + 1 >= MOST_LOSSES]
    lock_chunks(tx, [link.chunk_id for link in ours.values() if link.chunk_id is not None])
    finish(tx, counters, [(link, Result(doc_id=link.doc_id, claim=link.claim, error=FetchError.LOST)) for link in over])
    give_back(tx, counters, [link for link in ours.values() if link not in over], Cause.LOSS)
    return errors_of(links, outcomes(tx, list(known)))


def refuse(tx: Transaction, counters: CounterChanges, crawler: Lease, results: Sequence[Result]) -> list[Outcome]:
    alive(tx, crawler)
    known = {doc_id for (doc_id,) in tx.rows(_KNOWN, ids=sorted({result.doc_id for result in results}))}
    for result in results:
        if result.doc_id not in known:
            raise MgmtError(f"link {result.doc_id}: no such link; expected one that this crawler holds")
    take_results(tx, counters, results, crawler.node)
    found = outcomes(tx, [result.doc_id for result in results])
    return [found[result.doc_id] for result in results]


def outcomes(tx: Transaction, doc_ids: Sequence[DocId]) -> dict[DocId, Outcome]:
    found = map(_outcome, tx.rows(_OUTCOMES, ids=sorted(set(doc_ids))))
    return {outcome.doc_id: outcome for outcome in found}


def _outcome(row: Row) -> Outcome:
    doc_id, claim, state, other, other_claim, url, web_host, *result = row
    if not LinkState(state).is_finished:
        return Outcome(doc_id=doc_id, claim=claim, state=LinkState(state))
    return Outcome(
        doc_id=doc_id,
        claim=claim,
        state=LinkState(state),
        replacement=None if other is None else ClaimedLink(other, url, web_host, other_claim),
        **values_for(Outcome, result),
    )

"""How fetches ended, in the memory twin."""

from __future__ import annotations

from collections.abc import Sequence

from weft.clock import Clock
from weft.errors import MgmtError
from weft.mgmt.memory.claims import MemoryClaims
from weft.mgmt.memory.links import MemoryLinks
from weft.mgmt.memory.state import MemoryLink, values_for
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
from weft.mgmt.values import DocId, Lease, LinkState, NodeId, Outcome, Result, Robots
from weft.model.fetch_error import FetchError


class MemoryResults(MemoryClaims, MemoryLinks):
    def report(self, results: Sequence[Result], clock: Clock | None = None) -> list[bool]:
        return self._take_results(by_our_clock(results, clock, self._clock.now()), None)

    def _take_results(self, results: Sequence[Result], holder: NodeId | None) -> list[bool]:
        ended: list[MemoryLink] = []
        answers = [self._take_result(result, holder, ended) for result in results]
        self._hand_on(ended)
        return answers

    def _take_result(self, result: Result, holder: NodeId | None, ended: list[MemoryLink]) -> bool:
        link = self._state.links.get(result.doc_id)
        if link is None or result.claim != link.claim:
            return False
        kept = as_kept(result, self._clock.now())
        if is_same(link.result, kept):
            return True
        if link.state is not LinkState.CRAWLING or holder not in (None, link.node):
            return False
        self._finish(link, kept)
        ended.append(link)
        if link.is_robots:
            self._keep_robots(link.uri, result)
        return True

    def _finish(self, link: MemoryLink, kept: Result) -> None:
        cause = Cause.ARCHIVE if kept.position else Cause.FAIL
        link.state = link_after(link.state, cause, link.doc_id, is_robots=link.is_robots)
        link.result, link.losses = kept, 0

    def _hand_on(self, ended: Sequence[MemoryLink]) -> None:
        """Others take the places of those that failed; then it is seen which chunks are crawled."""
        for link in sorted(ended, key=lambda link: link.node):
            if link.state is LinkState.ERROR and link.chunk_id is not None and link.result is not None:
                link.replacement = self._replace(link, link.chunk_id, link.result.error)
        for chunk in dict.fromkeys(link.chunk_id for link in ended):
            self._state.seal(chunk)
        now = self._clock.now()
        for link in ended:
            if link.result is not None and link.result.retry_after:
                until = wait_until(link.result, now)
                reason = why_wait(link.result, is_robots=link.is_robots)
                self._state.defer(link.web_host, until, now, reason, asked=until)

    def _keep_robots(self, origin: str, result: Result) -> None:
        now = self._clock.now()
        self._state.robots[origin] = Robots(
            origin=origin,
            status=result.status,
            body=result.body,
            fetched=now,
            expires=robots_expiry(result, now),
            error=result.error,
        )

    def outcomes(self, doc_ids: Sequence[DocId]) -> dict[DocId, Outcome]:
        return {doc_id: _outcome(self._state.links[doc_id]) for doc_id in doc_ids if doc_id in self._state.links}

    def lost(self, crawler: Lease, links: Sequence[tuple[DocId, int]]) -> list[Outcome]:
        self._alive(crawler)
        held = {
            doc_id: link
            for doc_id, claim in links
            if (link := self._held(crawler.node, doc_id)) and link.claim == claim
        }
        over = [link for link in held.values() if link.losses + 1 >= MOST_LOSSES]
        for link in over:
            self._finish(link, Result(doc_id=link.doc_id, claim=link.claim, error=FetchError.LOST))
        self._hand_on(over)
        for link in held.values():
            if link not in over:
                link.losses += 1
                self._give_back(link, Cause.LOSS)
        return errors_of(links, self.outcomes([doc_id for doc_id, _ in links]))

    def refuse(self, crawler: Lease, results: Sequence[Result]) -> list[Outcome]:
        self._alive(crawler)
        for result in results:
            if result.doc_id not in self._state.links:
                raise MgmtError(f"link {result.doc_id}: no such link; expected one that this crawler holds")
        self._take_results(results, crawler.node)
        return [_outcome(self._state.links[result.doc_id]) for result in results]


def _outcome(link: MemoryLink) -> Outcome:
    if not link.state.is_finished:
        return Outcome(doc_id=link.doc_id, claim=link.claim, state=link.state)
    return Outcome(
        doc_id=link.doc_id,
        claim=link.claim,
        state=link.state,
        replacement=link.replacement,
        **values_for(Outcome, link.result),
    )

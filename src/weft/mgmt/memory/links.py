"""Links in the memory twin."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from weft.mgmt import rules
from weft.mgmt.memory.base import FINISHED
from weft.mgmt.memory.results import MemoryResults
from weft.mgmt.memory.state import NOBODY, HeldLink, WebHost
from weft.mgmt.transitions import Cause, link_after
from weft.mgmt.values import (
    BuilderTask,
    Chunk,
    CrawlerTask,
    Details,
    DocId,
    Lease,
    LinkFacts,
    LinkKind,
    LinkState,
    NewLink,
    Reopen,
    Result,
)
from weft.model.site import settings_for


class MemoryLinks(MemoryResults):
    def add(self, links: Sequence[NewLink]) -> int:
        before = len(self._state.links)
        for new in links:
            if (LinkKind.PAGE, new.uri) not in self._state.by_uri:
                self._make_known(new)
        return len(self._state.links) - before

    def _make_known(self, new: NewLink | Reopen) -> None:
        link = self._state.new_link(LinkKind.PAGE, new.uri, new.url, new.web_host)
        link.priority, link.etag, link.last_modified = new.priority, new.etag, new.last_modified
        self._state.web_hosts.setdefault(new.web_host, WebHost(self._clock.now()))

    def claim(self, crawler: Lease, limit: int = 5, reject: Collection[str] = ()) -> Chunk | None:
        node = self._alive(crawler)
        if not rules.wants_work(node.state, node.asked):
            return None
        waiting = self._state.waiting()
        order = self._ready(waiting, crawler.node)
        hosts = [host for host in order if host not in reject][:limit]
        if not hosts or limit < 1:
            return None
        self._turn(host for host in order[: order.index(hosts[-1])] if host in reject)
        chunk = self._state.new_chunk(crawler.address)
        shares = rules.fair_shares([len(waiting[host]) for host in hosts], limit)
        taken = [link for host, share in zip(hosts, shares, strict=True) for link in waiting[host][:share]]
        return Chunk(chunk.id, [self._take(link, chunk.id, crawler.node) for link in taken])

    def details(self, doc_ids: Sequence[DocId]) -> dict[DocId, Details]:
        sites = {name: site.settings for name, site in self._state.sites.items()}
        links = [self._state.links[doc_id] for doc_id in doc_ids if doc_id in self._state.links]
        return {
            link.doc_id: Details(
                link.doc_id,
                link.kind,
                link.url,
                link.claim,
                link.etag,
                link.last_modified,
                settings_for(link.web_host, sites),
            )
            for link in links
            if link.state is LinkState.CRAWLING
        }

    def known(self, uris: Sequence[str]) -> dict[str, LinkFacts]:
        found = {uri: self._state.by_uri.get((LinkKind.PAGE, uri)) for uri in uris}
        return {uri: _facts(link) for uri, link in found.items() if link is not None}

    def release(self, crawler: Lease, doc_ids: Sequence[DocId] | None = None) -> int:
        self._alive(crawler)
        chosen = list(self._state.links) if doc_ids is None else list(dict.fromkeys(doc_ids))
        links = [link for doc_id in chosen if (link := self._held(crawler.node, doc_id))]
        for link in links:
            self._give_back(link, Cause.RELEASE)
        return len(links)

    def reopen(self, wanted: Sequence[Reopen]) -> list[bool]:
        return [self._reopen(one) for one in wanted]

    def _reopen(self, wanted: Reopen) -> bool:
        link = self._state.by_uri.get((LinkKind.PAGE, wanted.uri))
        if link is None:
            self._make_known(wanted)
            return True
        if link.state in FINISHED and self._is_over(link, wanted.after):
            link.state = link_after(link.state, Cause.REOPEN, link.doc_id)
            link.url, link.web_host, link.priority = wanted.url, wanted.web_host, wanted.priority
            link.etag, link.last_modified = wanted.etag, wanted.last_modified
            link.node, link.losses = NOBODY, 0
            self._state.put(link, None)
            self._state.web_hosts.setdefault(wanted.web_host, WebHost(self._clock.now()))
        return link.state is LinkState.PENDING

    def _is_over(self, link: HeldLink, after: int) -> bool:
        if link.chunk_id is None or link.result is None:
            return False
        return self._state.chunks[link.chunk_id].built is BuilderTask.BUILT and link.result.ended <= after

    def defer(self, until: Mapping[str, int]) -> None:
        for web_host, moment in until.items():
            self._state.defer(web_host, moment)

    def linger(self, crawler: Lease) -> int:
        self._alive(crawler)
        unfinished = {
            chunk.id
            for chunk in self._state.chunks.values()
            if chunk.crawler == crawler.address and chunk.task is CrawlerTask.CRAWLING
        }
        finished = [
            link for link in self._state.links.values() if link.chunk_id in unfinished and link.state in FINISHED
        ]
        for start in range(0, len(finished), rules.LINGER_MOST):
            chunk = self._state.new_chunk(crawler.address)
            for link in finished[start : start + rules.LINGER_MOST]:
                self._state.put(link, chunk.id)
            self._seal(chunk.id)
        return len(finished)


def _facts(link: HeldLink) -> LinkFacts:
    result = link.result or Result(doc_id=link.doc_id, claim=link.claim)
    return LinkFacts(
        doc_id=link.doc_id,
        url=link.url,
        state=link.state,
        chunk=link.chunk_id,
        status=result.status,
        error=result.error,
        location=result.location,
        ended=result.ended,
    )

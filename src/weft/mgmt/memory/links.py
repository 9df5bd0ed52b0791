"""Links in the memory twin: known once, given back, opened again, and what others may know of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from weft.mgmt.memory.state import NOBODY, MemoryCalls, MemoryLink, values_for
from weft.mgmt.rules.results import kept_reason
from weft.mgmt.rules.transitions import Cause, link_after
from weft.mgmt.values import (
    BuilderTask,
    Details,
    DocId,
    Lease,
    LinkFacts,
    LinkKind,
    LinkState,
    NewLink,
    NodeId,
    Reopen,
)
from weft.model.site import settings_for


class MemoryLinks(MemoryCalls):
    def add(self, links: Sequence[NewLink]) -> int:
        before = len(self._state.links)
        for new in links:
            if (LinkKind.PAGE, new.uri) not in self._state.by_uri:
                self._make_known(new)
        return len(self._state.links) - before

    def _make_known(self, new: NewLink | Reopen) -> None:
        link = self._state.new_link(LinkKind.PAGE, new.uri, new.url, new.web_host)
        link.priority, link.etag, link.last_modified = new.priority, new.etag, new.last_modified
        link.original = new.original
        self._state.web_host(new.web_host, self._clock.now())

    def details(self, doc_ids: Sequence[DocId]) -> dict[DocId, Details]:
        sites = {name: site.settings for name, site in self._state.sites.items()}
        links = [self._state.links[doc_id] for doc_id in doc_ids if doc_id in self._state.links]
        return {
            link.doc_id: Details(
                doc_id=link.doc_id,
                kind=link.kind,
                url=link.url,
                claim=link.claim,
                etag=link.etag,
                last_modified=link.last_modified,
                original=link.original,
                site=(site := settings_for(link.web_host, sites)),
                address=self._located(link.web_host) if site.has_credentials else "",
                losses=link.losses,
            )
            for link in links
            if link.state is LinkState.CRAWLING
        }

    def _located(self, web_host: str) -> str:
        known = self._state.addresses.get(web_host)
        return known.ip if known else ""

    def known(self, uris: Sequence[str]) -> dict[str, LinkFacts]:
        found = {uri: self._state.by_uri.get((LinkKind.PAGE, uri)) for uri in uris}
        return {uri: _facts(link) for uri, link in found.items() if link is not None}

    def release(
        self, crawler: Lease, doc_ids: Sequence[DocId] | None = None, keep: Collection[DocId] = frozenset()
    ) -> int:
        self._alive(crawler)
        chosen = list(self._state.links) if doc_ids is None else list(dict.fromkeys(doc_ids))
        links = [link for doc_id in chosen if doc_id not in keep and (link := self._held(crawler.node, doc_id))]
        for link in links:
            self._give_back(link, Cause.RELEASE)
        return len(links)

    def _held(self, node: NodeId, doc_id: DocId) -> MemoryLink | None:
        link = self._state.links.get(doc_id)
        return link if link and link.state is LinkState.CRAWLING and link.node == node else None

    def _give_back(self, link: MemoryLink, cause: Cause) -> None:
        link.state = link_after(link.state, cause, link.doc_id, is_robots=link.is_robots)
        chunk, link.node = link.chunk_id, NOBODY
        self._state.put(link, None)
        self._state.seal(chunk)

    def reopen(self, wanted: Sequence[Reopen]) -> list[bool]:
        return [self._reopen(one) for one in wanted]

    def _reopen(self, wanted: Reopen) -> bool:
        link = self._state.by_uri.get((LinkKind.PAGE, wanted.uri))
        if link is None:
            self._make_known(wanted)
        if wanted.at_once:
            self._state.end_wait(wanted.web_host, self._clock.now())
        if link is None:
            return True
        if link.state.is_finished and self._is_over(link, wanted.after):
            link.state = link_after(link.state, Cause.REOPEN, link.doc_id)
            link.url, link.web_host, link.priority = wanted.url, wanted.web_host, wanted.priority
            link.etag, link.last_modified, link.original = wanted.etag, wanted.last_modified, wanted.original
            link.node, link.losses = NOBODY, 0
            self._state.put(link, None)
            self._state.web_host(wanted.web_host, self._clock.now())
        return link.state is LinkState.PENDING

    def _is_over(self, link: MemoryLink, after: int) -> bool:
        if link.chunk_id is None or link.result is None:
            return False
        return self._state.chunks[link.chunk_id].built is BuilderTask.BUILT and link.result.ended <= after

    def defer(self, waits: Mapping[str, int], reasons: Mapping[str, str] | None = None) -> None:
        now = self._clock.now()
        for web_host, wait in waits.items():
            self._state.defer(web_host, now + wait, now, kept_reason(reasons, web_host))


def _facts(link: MemoryLink) -> LinkFacts:
    return LinkFacts(
        doc_id=link.doc_id, url=link.url, state=link.state, chunk=link.chunk_id, **values_for(LinkFacts, link.result)
    )

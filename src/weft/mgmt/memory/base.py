"""What all calls of the memory twin rest on: leases, the line of web hosts, links that change hands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weft.clock import Clock
from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost
from weft.mgmt.memory.state import NOBODY, HeldLink, HeldNode, State
from weft.mgmt.transitions import Cause, link_after
from weft.mgmt.values import ChunkId, ClaimedLink, CrawlerTask, DocId, Lease, LinkState, NodeId

FINISHED = (LinkState.CRAWLED, LinkState.ERROR)


class MemoryBase:
    def __init__(self, clock: Clock, settings: MgmtSettings) -> None:
        self._state = State()
        self._clock, self._settings = clock, settings

    def _alive(self, lease: Lease) -> HeldNode:
        node = self._state.nodes.get(lease.node)
        if node is None or node.epoch != lease.epoch:
            raise LeaseLost(lease.address, lease.epoch)
        return node

    def _ready(self, waiting: Mapping[str, list[HeldLink]], crawler: NodeId) -> list[str]:
        """Web hosts that this crawler may take links of, those that waited longest first."""
        hosts, now = self._state.web_hosts, self._clock.now()
        foreign = {slot for slot, owner in enumerate(self._state.slots) if owner not in (None, crawler)}
        ready = [host for host in waiting if hosts[host].ready_at <= now and hosts[host].slot not in foreign]
        return sorted(ready, key=lambda host: (hosts[host].ready_at, host))

    def _turn(self, hosts: Iterable[str]) -> None:
        """Who was looked at goes to the end of the line."""
        for host in hosts:
            self._state.web_hosts[host].ready_at = self._clock.now()

    def _take(self, link: HeldLink, chunk: ChunkId, node: NodeId) -> ClaimedLink:
        link.state = link_after(link.state, Cause.CLAIM, link.doc_id)
        self._state.put(link, chunk)
        link.node, link.replacement = node, None
        link.claim += 1
        self._turn([link.web_host])
        return link.claimed

    def _held(self, node: NodeId, doc_id: DocId) -> HeldLink | None:
        link = self._state.links.get(doc_id)
        return link if link and link.state is LinkState.CRAWLING and link.node == node else None

    def _give_back(self, link: HeldLink, cause: Cause) -> None:
        link.state = link_after(link.state, cause, link.doc_id, is_robots=link.is_robots)
        chunk, link.node = link.chunk_id, NOBODY
        self._state.put(link, None)
        self._seal(chunk)

    def _seal(self, chunk: ChunkId | None) -> None:
        """A chunk is crawled once none of its links is crawling; an empty one is nothing to build."""
        if chunk is None:
            return
        links = self._state.links_of(chunk)
        if not any(link.state is LinkState.CRAWLING for link in links):
            self._state.chunks[chunk].task = CrawlerTask.CRAWLED
            self._state.chunks[chunk].is_offered = bool(links)

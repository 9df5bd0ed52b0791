"""Claims in the memory twin: the next links of ready web hosts, as a new chunk or in place of a link that failed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from weft.mgmt.memory.state import MemoryCalls, MemoryLink
from weft.mgmt.rules.claims import fair_shares, wants_work
from weft.mgmt.rules.slots import ADDRESSES
from weft.mgmt.rules.transitions import Cause, link_after
from weft.mgmt.values import Chunk, ChunkId, ClaimedLink, Lease, NodeId
from weft.model.fetch_error import FetchError


class MemoryClaims(MemoryCalls):
    def claim(self, crawler: Lease, limit: int = 5, reject: Collection[str] = ()) -> Chunk | None:
        node = self._alive(crawler)
        if not wants_work(node.state, node.asked):
            return None
        waiting = self._state.waiting()
        ready = self._ready(waiting, crawler.node)
        hosts = [host for host in ready if host not in reject][:limit]
        if not hosts or limit < 1:
            return None
        self._make_last(host for host in ready[: ready.index(hosts[-1])] if host in reject)
        chunk = self._state.new_chunk(crawler.address)
        shares = fair_shares([len(waiting[host]) for host in hosts], limit)
        taken = [link for host, share in zip(hosts, shares, strict=True) for link in waiting[host][:share]]
        return Chunk(chunk.id, [self._take(link, chunk.id, crawler.node) for link in taken])

    def _ready(self, waiting: Mapping[str, list[MemoryLink]], crawler: NodeId) -> list[str]:
        """Web hosts that this crawler may take links of, those that have been ready longest first."""
        hosts, now = self._state.web_hosts, self._clock.now()
        of_others = {n for n, slot in enumerate(self._state.slots[ADDRESSES]) if slot.owner not in (None, crawler)}
        ready = [host for host in waiting if hosts[host].ready_at <= now and hosts[host].slot not in of_others]
        return sorted(ready, key=lambda host: (hosts[host].ready_at, host))

    def _make_last(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            self._state.web_hosts[host].make_ready(self._clock.now())

    def _take(self, link: MemoryLink, chunk: ChunkId, node: NodeId) -> ClaimedLink:
        link.state = link_after(link.state, Cause.CLAIM, link.doc_id)
        self._state.put(link, chunk)
        link.node, link.replacement = node, None
        link.claim += 1
        self._make_last([link.web_host])
        return link.claimed

    def _replace(self, failed: MemoryLink, chunk: ChunkId, error: str) -> ClaimedLink | None:
        crawler = self._state.nodes[failed.node]
        if not wants_work(crawler.state, crawler.asked):
            return None
        waiting = self._state.waiting()
        ready = self._ready(waiting, crawler.id)
        if FetchError.of(error).replaced_from_elsewhere:
            ready = [host for host in ready if host != failed.web_host]
        elif failed.web_host in ready:
            ready = [failed.web_host]
        return self._take(waiting[ready[0]][0], chunk, crawler.id) if ready else None

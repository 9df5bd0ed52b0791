"""Claims: the next links of ready web hosts for a crawler, as a new chunk or in place of links that failed."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from weft.mgmt.rules.claims import fair_shares, wants_work
from weft.mgmt.rules.transitions import Cause, link_after
from weft.mgmt.sql.chunks import new_chunk
from weft.mgmt.sql.counters import CounterChanges
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.sql.ready_hosts import ReadyHost, first_ready, lock_hosts, pass_over, ready_among
from weft.mgmt.values import Chunk, ChunkId, ClaimedLink, DocId, Lease, LinkState, NodeId, NodeState
from weft.model.fetch_error import FetchError

_WILLING: Final = """SELECT "index", state, asked FROM host WHERE "index" {in nodes}"""
_EMPTY_CRAWLER: Final = """
INSERT INTO crawler (chunk_id, c_host, c_task, crawling, finished) VALUES (:chunk, :address, 'crawled', 0, 0)
"""

_FIRST_OF_HOST: Final = """
SELECT "index", link, web_host, claim + 1 AS claim FROM link
WHERE state = 'pending' AND kind = 'page' AND web_host = given.web_host
ORDER BY priority, "index" LIMIT given.most {skip}
"""

_TAKE: Final = """
UPDATE link SET state = 'crawling', claim = claim + 1, node = given.node, chunk_id = given.chunk_id,
    replacement = NULL, replacement_claim = NULL {from} WHERE link."index" = given.doc_id
"""


class AllHostsBusy(Exception):  # noqa: N818 - the call is repeated at once; nobody outside sees it
    """Links wait, but other transactions have all their web hosts in hand."""


def claim(
    tx: Transaction, counters: CounterChanges, crawler: Lease, limit: int, reject: Collection[str]
) -> Chunk | None:
    state, asked = alive(tx, crawler)
    if limit < 1 or not wants_work(state, asked):
        return None
    ready = first_ready(tx, crawler.node, limit, reject)
    wanted = [host for host in ready if host.web_host not in reject]
    hosts = lock_hosts(tx, wanted, limit)
    if not hosts:
        if wanted:
            raise AllHostsBusy
        return None
    last = hosts[-1].order
    pass_over(tx, [host.web_host for host in ready if host.web_host in reject and host.order < last])
    chunk = new_chunk(tx)
    tx.run(_EMPTY_CRAWLER, chunk=chunk, address=crawler.address)
    shares = fair_shares([host.pending for host in hosts], limit)
    places = [(host.web_host, chunk) for host, share in zip(hosts, shares, strict=True) for _ in range(share)]
    taken = [link for link in take(tx, counters, crawler.node, places) if link is not None]
    if not taken:
        raise AllHostsBusy
    return Chunk(chunk, taken)


def take(
    tx: Transaction, counters: CounterChanges, crawler: NodeId, wanted: Sequence[tuple[str, ChunkId]]
) -> list[ClaimedLink | None]:
    """The next pending link of each of these web hosts (all locked), into these chunks; None where there is none."""
    shares = Counter(web_host for web_host, _ in wanted)
    waiting: dict[str, deque[ClaimedLink]] = {web_host: deque() for web_host in shares}
    for doc_id, url, web_host, claim in tx.each(_FIRST_OF_HOST, "web_host:text most:int", sorted(shares.items())):
        waiting[web_host].append(ClaimedLink(DocId(doc_id), url, web_host, claim))
    taken = [waiting[web_host].popleft() if waiting[web_host] else None for web_host, _ in wanted]
    changes = []
    for link, (_, chunk) in zip(taken, wanted, strict=True):
        if link is not None:
            link_after(LinkState.PENDING, Cause.CLAIM, link.doc_id)
            counters.claimed(link.web_host, chunk)
            changes.append([link.doc_id, chunk, crawler])
    if changes:
        tx.change(_TAKE, "doc_id:int chunk_id:int node:int", changes)
    return taken


class FailedLink(NamedTuple):
    """A link in whose place another one is wanted, in the same chunk."""

    doc_id: DocId
    crawler: NodeId
    chunk: ChunkId
    web_host: str
    error: str

    @property
    def must_leave_host(self) -> bool:
        """Whether the other one must be of another host, because the error is the host's."""
        return FetchError.of(self.error).replaced_from_elsewhere


def replace(tx: Transaction, counters: CounterChanges, failed: Sequence[FailedLink]) -> dict[DocId, ClaimedLink]:
    by_crawler = defaultdict(list)
    for one in failed:
        by_crawler[one.crawler].append(one)
    found: dict[DocId, ClaimedLink] = {}
    for crawler in sorted(_willing(tx, by_crawler)):
        found |= _replace_for(tx, counters, crawler, by_crawler[crawler])
        if len(by_crawler) > 1:
            counters.write_hosts(tx)
    return found


def _willing(tx: Transaction, crawlers: Iterable[NodeId]) -> list[NodeId]:
    """Those that neither drain nor pause."""
    nodes = sorted(crawlers)
    rows = tx.rows(_WILLING, nodes=nodes) if nodes else []
    return [node for node, state, asked in rows if wants_work(NodeState(state), NodeState(asked))]


def _replace_for(
    tx: Transaction, counters: CounterChanges, crawler: NodeId, failed: Sequence[FailedLink]
) -> dict[DocId, ClaimedLink]:
    ready = first_ready(tx, crawler, len(failed) + 1, ())
    own = {one.web_host for one in failed if not one.must_leave_host}
    ready += ready_among(tx, crawler, own - {host.web_host for host in ready})
    hosts = lock_hosts(tx, ready, len(ready))
    chosen = list(zip(failed, _chosen(hosts, failed, tx.now), strict=True))
    wanted = [(one, web_host) for one, web_host in chosen if web_host is not None]
    taken = take(tx, counters, crawler, [(web_host, one.chunk) for one, web_host in wanted])
    return {one.doc_id: link for (one, _), link in zip(wanted, taken, strict=True) if link is not None}


def _chosen(hosts: Sequence[ReadyHost], failed: Sequence[FailedLink], now: int) -> list[str | None]:
    """The host that each replacement comes from, as if they were asked for one after the other."""
    ready = {host.web_host: host for host in hosts}
    chosen: list[str | None] = []
    for one in failed:
        found = _host_for(one, ready)
        chosen.append(found)
        if found is not None:
            _give_one(ready, found, now)
    return chosen


def _host_for(failed: FailedLink, ready: Mapping[str, ReadyHost]) -> str | None:
    if failed.web_host in ready and not failed.must_leave_host:
        return failed.web_host
    orders = [host.order for name, host in ready.items() if not failed.must_leave_host or name != failed.web_host]
    return min(orders)[1] if orders else None


def _give_one(ready: dict[str, ReadyHost], web_host: str, now: int) -> None:
    host = ready.pop(web_host)
    if host.pending > 1:
        ready[web_host] = host._replace(pending=host.pending - 1, ready_at=now)

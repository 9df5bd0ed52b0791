"""The control plane in dicts: what the promise means, in the plainest words, and the twin that tests run against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from threading import RLock
from typing import TypeVar

from weft.clock import Clock, SystemClock
from weft.config.sections import MgmtSettings
from weft.mgmt import rules
from weft.mgmt.memory.nodes import MemoryNodes
from weft.mgmt.memory.state import HeldChunk, WebHost
from weft.mgmt.memory.tables import rows_of, task_of
from weft.mgmt.relations import TASKS
from weft.mgmt.transitions import Cause, builder_after, link_after
from weft.mgmt.values import (
    Address,
    BuildChunk,
    BuilderTask,
    BuildLink,
    ChunkId,
    ClaimedLink,
    Counts,
    Lease,
    LinkKind,
    LinkState,
    NodeState,
    NodeType,
    Placement,
    Robots,
)
from weft.model.host import slot_of, web_host_of
from weft.model.site import Site

Twin = TypeVar("Twin", bound=type)


def one_call_at_a_time(twin: Twin) -> Twin:
    """Every public method waits until no other one runs, whatever the thread."""
    lock = RLock()

    def waiting(method: Callable[..., object]) -> Callable[..., object]:
        @wraps(method)
        def call(*arguments: object, **named: object) -> object:
            with lock:
                return method(*arguments, **named)

        return call

    for name in [name for name in dir(twin) if not name.startswith("_")]:
        setattr(twin, name, waiting(getattr(twin, name)))
    return twin


@one_call_at_a_time
class MemoryMgmt(MemoryNodes):
    """For one process; gone when it is."""

    def __init__(self, clock: Clock | None = None, settings: MgmtSettings | None = None) -> None:
        super().__init__(clock or SystemClock(), settings or MgmtSettings())

    def open_robots(self, crawler: Lease, urls: Mapping[str, str]) -> dict[str, ClaimedLink]:
        self._alive(crawler)
        opened = {origin: self._open_robots(crawler, origin, url) for origin, url in sorted(urls.items())}
        return {origin: link for origin, link in opened.items() if link is not None}

    def _open_robots(self, crawler: Lease, origin: str, url: str) -> ClaimedLink | None:
        host = web_host_of(url)
        link = self._state.by_uri.get((LinkKind.ROBOTS, origin))
        if link is None:
            link = self._state.new_link(LinkKind.ROBOTS, origin, url, host)
        if link.state is LinkState.CRAWLING and link.node != crawler.node:
            return None
        if link.state is LinkState.CRAWLING and link.url == url:
            return link.claimed
        link.state = link_after(link.state, Cause.OPEN, link.doc_id, is_robots=True)
        link.url, link.web_host, link.node = url, host, crawler.node
        link.claim += 1
        return link.claimed

    def save_robots(self, robots: Sequence[Robots]) -> None:
        self._state.robots.update({one.origin: one for one in robots})

    def robots(self, origins: Sequence[str]) -> dict[str, Robots]:
        return {origin: self._state.robots[origin] for origin in origins if origin in self._state.robots}

    def save_addresses(self, addresses: Sequence[Address]) -> None:
        for address in addresses:
            self._state.addresses[address.web_host] = address
            host = self._state.web_hosts.setdefault(address.web_host, WebHost(self._clock.now()))
            host.slot = slot_of(address.ip_key)

    def addresses(self, web_hosts: Sequence[str]) -> dict[str, Address]:
        return {host: self._state.addresses[host] for host in web_hosts if host in self._state.addresses}

    def take_crawled(self, builder: Lease, most: int = 5) -> list[BuildChunk]:
        self._alive(builder)
        offered = [chunk for chunk in self._state.chunks.values() if chunk.is_offered][: max(most, 0)]
        if offered and offered[0].lost_leases >= rules.ALONE_AFTER:
            return [self._give(offered[0], builder)]
        return [self._give(chunk, builder) for chunk in offered if chunk.lost_leases < rules.ALONE_AFTER]

    def _give(self, chunk: HeldChunk, builder: Lease) -> BuildChunk:
        if chunk.built is None:
            self._state.builders.append(chunk.id)
        chunk.built = builder_after(chunk.built, Cause.TAKE, chunk.id)
        chunk.builder, chunk.is_offered = builder.address, False
        chunk.attempt += 1
        return BuildChunk(chunk.id, chunk.attempt, self._build_links(chunk.id))

    def _build_links(self, chunk: ChunkId) -> list[BuildLink]:
        return [
            BuildLink(doc_id=link.doc_id, uri=link.uri, url=link.url, state=link.state, result=link.result)
            for link in self._state.links_of(chunk)
            if link.result is not None
        ]

    def built(self, builder: Lease, chunk: ChunkId, attempt: int) -> bool:
        self._alive(builder)
        held = self._state.chunks.get(chunk)
        if held is None or (held.builder, held.attempt) != (builder.address, attempt):
            return False
        if held.built is BuilderTask.BUILDING:
            held.built = builder_after(held.built, Cause.BUILD, chunk)
            held.reason = ""
            for node in self._state.nodes.values():
                if node.type is NodeType.INDEX_SERVER:
                    self._place(node, held)
        return held.built is BuilderTask.BUILT

    def build_failed(self, builder: Lease, chunk: ChunkId, attempt: int, reason: str) -> bool:
        self._alive(builder)
        held = self._state.chunks.get(chunk)
        if held is None or (held.builder, held.attempt) != (builder.address, attempt):
            return False
        if held.built is BuilderTask.BUILDING:
            self._offer_again(held, Cause.FAIL, reason)
        return held.built is BuilderTask.ERROR

    def retry(self, chunks: Sequence[ChunkId] | None = None) -> int:
        wanted = self._state.chunks if chunks is None else dict.fromkeys(chunks)
        failed = [chunk for id_ in wanted if (chunk := self._state.chunks.get(id_)) and _has_failed(chunk)]
        for chunk in failed:
            chunk.built = builder_after(BuilderTask.ERROR, Cause.RETRY, chunk.id)
            chunk.is_offered, chunk.errors, chunk.lost_leases = True, 0, 0
        return len(failed)

    def next_placement(self, server: Lease, after: int) -> Placement | None:
        placed = self._alive(server).placed
        return Placement(after + 1, placed[after]) if 0 <= after < len(placed) else None

    def acknowledge(self, server: Lease, number: int) -> None:
        node = self._alive(server)
        node.acknowledged = max(node.acknowledged, min(number, len(node.placed)))

    def sites(self) -> list[Site]:
        return [self._state.sites[name] for name in sorted(self._state.sites)]

    def set_sites(self, sites: Sequence[Site]) -> None:
        self._state.sites.update((site.name, site) for site in sites)

    def counts(self) -> Counts:
        pages = [link for link in self._state.links.values() if not link.is_robots]
        errors = Counter(link.result.error for link in pages if link.state is LinkState.ERROR and link.result)
        late = [node.seen for node in self.nodes() if node.holds and node.state is not NodeState.OFFLINE]
        states, tasks = Counter(link.state for link in pages), Counter(map(task_of, self._state.chunks.values()))
        return Counts(
            links={state.value: states[state] for state in LinkState},
            chunks={task: tasks[task] for task in TASKS},
            errors=dict(errors),
            oldest_lease=max(late, default=None),
        )

    def table(self, relation: str, after: int = 0, limit: int = 100) -> list[dict[str, object]]:
        return rows_of(self._state, relation, self.nodes())[after : after + limit]

    def close(self) -> None:
        pass


def _has_failed(chunk: HeldChunk) -> bool:
    return chunk.built is BuilderTask.ERROR and not chunk.is_offered

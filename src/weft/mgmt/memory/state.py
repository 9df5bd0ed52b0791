"""What the memory twin keeps: the relations as plain objects, and the steps that several calls share."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from weft.clock import Clock
from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost
from weft.mgmt.rules.results import fields_from_result
from weft.mgmt.rules.slots import Slot
from weft.mgmt.values import (
    Address,
    BuilderTask,
    ChunkId,
    ClaimedLink,
    ClockJump,
    CrawlerTask,
    DocId,
    Health,
    Lease,
    LinkKind,
    LinkState,
    NodeAbout,
    NodeId,
    NodeState,
    NodeType,
    Result,
    Robots,
    StoreOwner,
    TakenBucket,
    WebToken,
    Wish,
)
from weft.model.host import NO_SLOT
from weft.model.original import Original
from weft.model.site import Site

NOBODY: Final = NodeId(0)


@dataclass(slots=True)
class MemoryLink:
    doc_id: DocId
    kind: LinkKind
    uri: str
    url: str
    web_host: str
    priority: int = 0
    etag: str = ""
    last_modified: str = ""
    original: Original | None = None
    state: LinkState = LinkState.PENDING
    chunk_id: ChunkId | None = None
    node: NodeId = NOBODY
    claim: int = 0
    losses: int = 0
    result: Result | None = None
    replacement: ClaimedLink | None = None

    @property
    def is_robots(self) -> bool:
        return self.kind is LinkKind.ROBOTS

    @property
    def claimed(self) -> ClaimedLink:
        return ClaimedLink(self.doc_id, self.url, self.web_host, self.claim)


@dataclass(slots=True)
class MemoryChunk:
    id: ChunkId
    crawler: str
    task: CrawlerTask = CrawlerTask.CRAWLING
    is_offered: bool = False
    builder: str = ""
    built: BuilderTask | None = None
    attempt: int = 0
    lost_leases: int = 0
    errors: int = 0
    reason: str = ""
    waits_for: str = ""
    waits_until: int = 0
    waiting_since: int = 0
    seq: int = 0
    """Of a round by which it was whole in the index."""


@dataclass(slots=True)
class MemoryNode:
    id: NodeId
    address: str
    type: NodeType
    row: int
    state: NodeState = NodeState.OFFLINE
    health: Health = Health.HEALTHY
    asked: NodeState = NodeState.ONLINE
    epoch: int = 0
    seen: int = 0
    about: NodeAbout = field(default_factory=NodeAbout)
    skew: int | None = None
    figures: dict[str, Any] = field(default_factory=dict)
    acknowledged: int = 0
    """The seq up to which everything is committed in all its shards."""


@dataclass(slots=True)
class MemoryWebHost:
    ready_at: int
    set_at: int
    """When `ready_at` was set."""
    reason: str = ""
    """Why it waits until then."""
    asked_until: int = 0
    """Until when the server itself asked us to wait."""
    asked_reason: str = ""
    slot: int = NO_SLOT
    rate: int = 0

    def make_ready(self, now: int) -> None:
        self.ready_at, self.set_at, self.reason = now, now, ""

    def reason_at(self, now: int) -> str:
        """Why it waits now; a wait that is over has no reason."""
        return self.reason if self.ready_at > now else ""


@dataclass(slots=True)
class MemoryState:
    links: dict[DocId, MemoryLink] = field(default_factory=dict)
    by_uri: dict[tuple[LinkKind, str], MemoryLink] = field(default_factory=dict)
    chunks: dict[ChunkId, MemoryChunk] = field(default_factory=dict)
    members: defaultdict[ChunkId, dict[DocId, MemoryLink]] = field(default_factory=lambda: defaultdict(dict))
    builders: list[ChunkId] = field(default_factory=list)
    """Chunks in the order in which builders first took them."""
    nodes: dict[NodeId, MemoryNode] = field(default_factory=dict)
    placements: dict[tuple[NodeId, ChunkId], None] = field(default_factory=dict)
    """Index servers and the chunks that are theirs, in the order of the rows of index_server."""
    web_hosts: dict[str, MemoryWebHost] = field(default_factory=dict)
    robots: dict[str, Robots] = field(default_factory=dict)
    addresses: dict[str, Address] = field(default_factory=dict)
    addresses_set: dict[str, int] = field(default_factory=dict)
    """When each address was saved."""
    sites: dict[str, Site] = field(default_factory=dict)
    wanted: dict[str, Wish] = field(default_factory=dict)
    slots: defaultdict[str, list[Slot]] = field(default_factory=lambda: defaultdict(list))
    """By pool."""
    identity: dict[str, str] = field(default_factory=dict)
    """What all processes must agree on."""
    store: StoreOwner | None = None
    web_tokens: dict[str, WebToken] = field(default_factory=dict)
    """By digest."""
    buckets: dict[int, TakenBucket] = field(default_factory=dict)
    bucket_owners: dict[int, Lease] = field(default_factory=dict)
    holds: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Who holds writing, and until when, by id."""
    newest: int = 0
    """The newest moment of any call."""
    jump: ClockJump = field(default_factory=lambda: ClockJump(by=0))

    def new_link(self, kind: LinkKind, uri: str, url: str, web_host: str) -> MemoryLink:
        link = MemoryLink(DocId(len(self.links) + 1), kind, uri, url, web_host)
        self.links[link.doc_id] = self.by_uri[kind, uri] = link
        return link

    def new_chunk(self, crawler: str) -> MemoryChunk:
        chunk = MemoryChunk(ChunkId(len(self.chunks) + 1), crawler)
        self.chunks[chunk.id] = chunk
        return chunk

    def web_host(self, name: str, now: int) -> MemoryWebHost:
        return self.web_hosts.setdefault(name, MemoryWebHost(now, now))

    def defer(self, web_host: str, until: int, now: int, reason: str, asked: int = 0) -> None:
        known = self.web_hosts.setdefault(web_host, MemoryWebHost(until, now, reason))
        if known.ready_at < until:
            known.ready_at, known.set_at, known.reason = until, now, reason
        if known.asked_until < asked:
            known.asked_until, known.asked_reason = asked, reason

    def end_wait(self, web_host: str, now: int) -> None:
        """A person wants a page of it now: it waits no longer than its server asked for."""
        known = self.web_hosts.get(web_host)
        if known is None or known.ready_at <= now:
            return
        if known.asked_until > now:
            known.ready_at, known.reason = known.asked_until, known.asked_reason
        else:
            known.make_ready(now)

    def put(self, link: MemoryLink, chunk: ChunkId | None) -> None:
        """Into this chunk, out of any other."""
        if link.chunk_id is not None:
            del self.members[link.chunk_id][link.doc_id]
        if chunk is not None:
            self.members[chunk][link.doc_id] = link
        link.chunk_id = chunk

    def links_of(self, chunk: ChunkId) -> list[MemoryLink]:
        return [link for _, link in sorted(self.members[chunk].items())]

    def seal(self, chunk: ChunkId | None) -> None:
        """A chunk is crawled once none of its links is crawling; an empty one is nothing to build."""
        if chunk is None:
            return
        links = self.links_of(chunk)
        if not any(link.state is LinkState.CRAWLING for link in links):
            self.chunks[chunk].task = CrawlerTask.CRAWLED
            self.chunks[chunk].is_offered = bool(links)

    def waiting(self) -> dict[str, list[MemoryLink]]:
        """Pending pages by web host, in the order in which they are claimed."""
        found = defaultdict(list)
        for link in self.links.values():
            if link.state is LinkState.PENDING and not link.is_robots:
                found[link.web_host].append(link)
        return {host: sorted(links, key=lambda link: (link.priority, link.doc_id)) for host, links in found.items()}


class MemoryCalls:
    """What the calls of the memory twin, which its other files hold, work on."""

    def __init__(self, clock: Clock, settings: MgmtSettings) -> None:
        self._state = MemoryState()
        self._clock, self._settings = clock, settings

    def _alive(self, lease: Lease) -> MemoryNode:
        """The node whose lease this is; raises LeaseLost."""
        node = self._state.nodes.get(lease.node)
        if node is None or node.epoch != lease.epoch:
            raise LeaseLost(lease.address, lease.epoch)
        return node


def values_for(kind: type[msgspec.Struct], result: Result | None) -> dict[str, Any]:
    """What a struct, such as Outcome, repeats from a link's last result; nothing without one."""
    return {name: getattr(result, name) for name in fields_from_result(kind)} if result else {}

"""What the memory twin remembers: the relations as plain objects."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from weft.mgmt.values import (
    Address,
    BuilderTask,
    ChunkId,
    ClaimedLink,
    CrawlerTask,
    DocId,
    Health,
    LinkKind,
    LinkState,
    NodeId,
    NodeState,
    NodeType,
    Result,
    Robots,
)
from weft.model.host import ADDRESS_SLOTS, NO_SLOT
from weft.model.site import Site

NOBODY: Final = NodeId(0)


@dataclass(slots=True)
class HeldLink:
    doc_id: DocId
    kind: LinkKind
    uri: str
    url: str
    web_host: str
    priority: int = 0
    etag: str = ""
    last_modified: str = ""
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
class HeldChunk:
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


@dataclass(slots=True)
class HeldNode:
    id: NodeId
    address: str
    type: NodeType
    row: int
    state: NodeState = NodeState.OFFLINE
    health: Health = Health.HEALTHY
    asked: NodeState = NodeState.ONLINE
    epoch: int = 0
    seen: int = 0
    placed: list[ChunkId] = field(default_factory=list)
    acknowledged: int = 0


@dataclass(slots=True)
class WebHost:
    ready_at: int
    slot: int = NO_SLOT


@dataclass(slots=True)
class Placed:
    """A row of index_server."""

    row: int
    chunk_id: ChunkId
    server: str


@dataclass(slots=True)
class State:
    links: dict[DocId, HeldLink] = field(default_factory=dict)
    by_uri: dict[tuple[LinkKind, str], HeldLink] = field(default_factory=dict)
    chunks: dict[ChunkId, HeldChunk] = field(default_factory=dict)
    members: defaultdict[ChunkId, dict[DocId, HeldLink]] = field(default_factory=lambda: defaultdict(dict))
    builders: list[ChunkId] = field(default_factory=list)
    """Chunks in the order in which builders first took them."""
    nodes: dict[NodeId, HeldNode] = field(default_factory=dict)
    placements: list[Placed] = field(default_factory=list)
    web_hosts: dict[str, WebHost] = field(default_factory=dict)
    robots: dict[str, Robots] = field(default_factory=dict)
    addresses: dict[str, Address] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)
    slots: list[NodeId | None] = field(default_factory=lambda: [None] * ADDRESS_SLOTS)
    leaving: set[int] = field(default_factory=set)

    def new_link(self, kind: LinkKind, uri: str, url: str, web_host: str) -> HeldLink:
        link = HeldLink(DocId(len(self.links) + 1), kind, uri, url, web_host)
        self.links[link.doc_id] = self.by_uri[kind, uri] = link
        return link

    def new_chunk(self, crawler: str) -> HeldChunk:
        chunk = HeldChunk(ChunkId(len(self.chunks) + 1), crawler)
        self.chunks[chunk.id] = chunk
        return chunk

    def defer(self, web_host: str, until: int) -> None:
        known = self.web_hosts.setdefault(web_host, WebHost(until))
        known.ready_at = max(known.ready_at, until)

    def put(self, link: HeldLink, chunk: ChunkId | None) -> None:
        """Into this chunk, out of any other."""
        if link.chunk_id is not None:
            del self.members[link.chunk_id][link.doc_id]
        if chunk is not None:
            self.members[chunk][link.doc_id] = link
        link.chunk_id = chunk

    def links_of(self, chunk: ChunkId) -> list[HeldLink]:
        return [link for _, link in sorted(self.members[chunk].items())]

    def waiting(self) -> dict[str, list[HeldLink]]:
        """Pending pages by web host, in the order in which they are claimed."""
        found = defaultdict(list)
        for link in self.links.values():
            if link.state is LinkState.PENDING and not link.is_robots:
                found[link.web_host].append(link)
        return {host: sorted(links, key=lambda link: (link.priority, link.doc_id)) for host, links in found.items()}

"""What goes into the calls of the control plane and comes out of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple, NewType

import msgspec

from weft.model.original import Original
from weft.model.site import SiteSettings

DocId = NewType("DocId", int)
"""A link's index: names it for good, also on the wire."""
NodeId = NewType("NodeId", int)
ChunkId = NewType("ChunkId", int)


class LinkState(StrEnum):
    PENDING, CRAWLING, CRAWLED, ERROR = "pending", "crawling", "crawled", "error"

    @property
    def is_finished(self) -> bool:
        return self in (LinkState.CRAWLED, LinkState.ERROR)


class LinkKind(StrEnum):
    PAGE, ROBOTS = "page", "robots"


class CrawlerTask(StrEnum):
    CRAWLING, CRAWLED = "crawling", "crawled"


class BuilderTask(StrEnum):
    BUILDING, BUILT, ERROR = "building", "built", "error"
    WAITING = "waiting"
    """Its records are on a node that cannot be reached."""


class PlacementState(StrEnum):
    """Of a built chunk on an index server."""

    PENDING, INDEXED = "pending", "indexed"


class NodeType(StrEnum):
    """What a process is registered as: the URL server is the crawler, the index process the index builder.

    Databases keep the value, of at most 22 characters, as it is; a new type needs no migration.
    """

    CRAWLER, SPIDER, INDEX_BUILDER, INDEX_SERVER = "Crawler", "Spider", "Index Builder", "Index Server"
    WEB_APP = "Web App"
    """Holds no work: whoever asks what crawls, or waits for a crawl to end, leaves it out."""


class NodeState(StrEnum):
    ONLINE, PAUSED, DRAINING, OFFLINE = "online", "paused", "draining", "offline"


class Health(StrEnum):
    HEALTHY, PROBATION, FAILURE = "healthy", "probation", "failure"


class Lease(msgspec.Struct, frozen=True):
    """What a registered node shows with every call that takes or changes work; void once the epoch is."""

    node: NodeId
    address: str
    epoch: int


class TakenBucket(msgspec.Struct, frozen=True):
    """What a new owner of a cluster's index is given."""

    epoch: int
    seq: int
    """Of the last registered batch; 0: there is none."""
    batch: bytes


class AdoptedIndex(msgspec.Struct, frozen=True):
    """A store that holds the index from now on, as the next owner finds it."""

    store: StoreOwner
    seq: int
    """Of its last batch; that of a cluster may still be on its way into the store."""
    batch: bytes


class NodeAbout(msgspec.Struct, frozen=True, kw_only=True):
    """What a node tells when it registers; others are refused that cannot work with it."""

    machine: str = ""
    """Name of its machine; empty: not known."""
    version: str = ""
    """Of its weft."""
    token: str = ""
    """A digest of its token (`spider.token`); empty: it has none."""
    is_sole: bool = False
    """Whether there may be only one node of its type: the writer of an embedded store."""


class NodeTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a node tells with a heartbeat."""

    clock: int = 0
    """Milliseconds since 1970 by its own clock; 0: not told."""
    figures: dict[str, Any] = {}
    """How it is doing, for `weft status`."""


class StoreOwner(msgspec.Struct, frozen=True):
    """The store that holds the index of a control plane."""

    id: str
    where: str
    """The machine and the directory in which it was last opened for writing."""


class NewLink(msgspec.Struct, frozen=True):
    uri: str
    url: str
    web_host: str
    """Host name with `:port` unless it is the scheme's own: the unit of politeness."""
    priority: int = 0
    """Lower goes first within a host."""
    etag: str = ""
    last_modified: str = ""
    original: Original | None = None


class WebToken(msgspec.Struct, frozen=True):
    """Lets a program change something through the web app. The token itself is known to its holder alone."""

    id: str
    name: str
    """What it is for, as its maker said; may be empty."""
    created: int
    used: int = 0
    """When it was last used, give or take an hour; 0: never. Both are milliseconds since 1970."""


class Seed(msgspec.Struct, frozen=True):
    """A page that a person named."""

    uri: str
    url: str
    web_host: str
    any_scheme: bool = False
    """It was typed without a scheme: where https cannot be connected to, http is meant."""


class Wish(msgspec.Struct, frozen=True):
    """A page to be fetched now, because a person named it or because redirects led to it from one that was named."""

    uri: str
    url: str
    any_scheme: bool = False
    hops: int = 0
    """Redirects from the page that was named."""
    asked: int = 0
    """When it was named; a fetch that ended before does not count."""


class ClaimedLink(msgspec.Struct, frozen=True):
    doc_id: DocId
    url: str
    web_host: str
    claim: int
    """Raised by every claim of the link; a result that names an older one is late and changes nothing."""


class Chunk(msgspec.Struct, frozen=True):
    id: ChunkId
    links: list[ClaimedLink]


class Details(msgspec.Struct, frozen=True):
    """What a spider needs to know to fetch a link."""

    doc_id: DocId
    kind: LinkKind
    url: str
    claim: int
    etag: str = ""
    last_modified: str = ""
    original: Original | None = None
    """The capture that these validators came with: what a 304 refers to."""
    site: SiteSettings = SiteSettings()
    """What is set for the link's site."""
    address: str = ""
    """Where the DNS found its host, if the site has credentials: they go nowhere else."""
    losses: int = 0
    """How many fetches before this one ended without a result."""


class WarcPosition(msgspec.Struct, frozen=True):
    node: str
    """Address of the spider's node that holds the file."""
    file: str
    offset: int
    length: int


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a fetch ended. Archived (crawled) when there is a position, whatever the status; else an error.

    Every field but the body is kept with the link; the databases keep them in the columns of `sql/result_columns.py`.
    """

    doc_id: DocId
    claim: int
    status: int = 0
    """HTTP status; 0: there was no answer."""
    error: str = ""
    """Class of the error (network, timeout, tls, refused, robots, lost, too_large …); empty: archived."""
    position: WarcPosition | None = None
    started: int = 0
    ended: int = 0
    """Milliseconds since 1970, by the spider's clock."""
    size: int = 0
    """Bytes of the body after decoding."""
    retry_after: int = 0
    """Milliseconds that the server asked us to wait."""
    etag: str = ""
    last_modified: str = ""
    location: str = ""
    content_type: str = ""
    body: bytes = b""
    """Of robots.txt alone."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a link, for the URL server that received DONE.

    Fields that have the name of a field of Result are taken from the link's last result.
    """

    doc_id: DocId
    claim: int
    state: LinkState
    status: int = 0
    error: str = ""
    retry_after: int = 0
    location: str = ""
    started: int = 0
    ended: int = 0
    replacement: ClaimedLink | None = None
    """A link that took this one's place in its chunk."""


class LinkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the control plane knows of a page's link, for those who ask.

    Fields that have the name of a field of Result are taken from the link's last result.
    """

    doc_id: DocId
    url: str
    state: LinkState
    chunk: ChunkId | None = None
    status: int = 0
    error: str = ""
    location: str = ""
    ended: int = 0


class Robots(msgspec.Struct, frozen=True, kw_only=True):
    """robots.txt of an origin (`https://a.com`) as it was last fetched."""

    origin: str
    status: int
    """HTTP status after redirects; 0: no answer."""
    body: bytes = b""
    fetched: int = 0
    expires: int = 0
    error: str = ""
    """Class of the error if there was no answer."""
    settings: str = ""
    """A hash of the settings that it was fetched with; empty: not known."""


class Address(msgspec.Struct, frozen=True):
    """Where a web host is. An empty ip: the name does not resolve or is refused, with the reason."""

    web_host: str
    ip: str
    ip_key: str
    """What politeness counts by: the address, or the /64 of an IPv6 one."""
    expires: int
    reason: str = ""


class BuildLink(msgspec.Struct, frozen=True, kw_only=True):
    doc_id: DocId
    uri: str
    url: str
    state: LinkState
    result: Result
    priority: int = 0
    asked: Original | None = None
    """The capture that a `304 Not Modified` stands for: its validators were sent."""


class BuiltLink(NamedTuple):
    """A link whose chunk is built."""

    chunk: ChunkId
    seq: int
    """That of a round of the index by which all of the chunk was in."""
    link: BuildLink


class BuildChunk(msgspec.Struct, frozen=True):
    """A crawled chunk given to a builder, with where its records are."""

    id: ChunkId
    attempt: int
    """Named when the builder reports; an older attempt's report changes nothing."""
    links: list[BuildLink]
    waited: int = 0
    """Milliseconds since it was first put aside because its records could not be reached; 0: it never was."""


class BuildQueue(msgspec.Struct, frozen=True):
    """What waits to be taken by builders that are online."""

    links: int = 0
    """Finished links, also those of chunks that are still being crawled."""
    waited: int = 0
    """Milliseconds that the first crawled chunk has waited since its last fetch ended; 0: none waits."""
    crowding: list[str] = []
    """Registrable domains of which so much waits that nothing more should be fetched from them now."""


class Reopen(msgspec.Struct, frozen=True, kw_only=True):
    """Make a known link pending again, if its chunk is built and its last result is not newer than `after`."""

    uri: str
    url: str
    web_host: str
    after: int
    etag: str = ""
    last_modified: str = ""
    original: Original | None = None
    """The capture that these validators came with."""
    priority: int = 0
    at_once: bool = False
    """Its web host waits no longer, unless the server itself asked for that."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    id: NodeId
    address: str
    type: NodeType
    state: NodeState
    health: Health
    epoch: int
    seen: int
    """Milliseconds since the last heartbeat."""
    holds: int
    """Links or chunks in its hands; of an index server, built chunks that it has not acknowledged."""
    asked: NodeState = NodeState.ONLINE
    """What it is asked to be."""
    machine: str = ""
    version: str = ""
    skew: int | None = None
    """Milliseconds that its clock is ahead of the control plane's; None: not known."""
    figures: dict[str, Any] = {}
    """What it told of itself with its last heartbeat."""
    row: int = 0
    """Which replica of the text index an index server is of; 0 for others."""


class ClockJump(msgspec.Struct, frozen=True, kw_only=True):
    """The clock of the control plane was set back."""

    by: int
    """Milliseconds."""
    at: int | None = None
    """When that was noticed and waits were cut to their own length; None: nobody has called since."""


class RestingHost(msgspec.Struct, frozen=True):
    web_host: str
    pending: int
    """Links that wait for it."""
    wait: int
    """Milliseconds until one of them may be claimed."""
    reason: str = ""
    """Why: `status 503`, or the class of an error.

    `Retry-After 120` behind it: the server asked for so many seconds. `robots.txt` before it: that is how the host's
    robots.txt was answered. Empty: not known.
    """


class RestingHosts(msgspec.Struct, frozen=True):
    """Web hosts that asked for patience or failed, and of which links wait."""

    links: int
    """Of all of them."""
    hosts: list[RestingHost]
    """Those with the most links first; not necessarily all."""


class ArchivedRecord(NamedTuple):
    """Where the record of a link's last result lies."""

    doc_id: DocId
    file: str
    offset: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    links: dict[str, int]
    chunks: dict[str, int]
    """By task: crawling, crawled, building, built, error."""
    errors: dict[str, int]
    """Links in state error, by class."""
    statuses: dict[str, int] = {}
    """Links that are crawled, where the answer was an error status: 400 and above."""
    oldest_lease: int | None
    """Milliseconds since the least recent heartbeat of a node that holds work."""
    clock_jump: ClockJump | None = None
    """The last time that the clock went back, if it was lately and by more than a minute."""

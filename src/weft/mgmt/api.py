"""The calls of the control plane, by who makes them: a role's constructor takes only the calls of that role.

Every call is one transaction, durable when it returns; making a call again is harmless. Times are milliseconds; the
database's clock alone judges leases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from weft.clock import Clock
from weft.mgmt.values import (
    Address,
    AdoptedIndex,
    ArchivedRecord,
    BuildChunk,
    BuildQueue,
    BuiltLink,
    Chunk,
    ChunkId,
    ClaimedLink,
    Counts,
    Details,
    DocId,
    Lease,
    LinkFacts,
    NewLink,
    Node,
    NodeAbout,
    NodeId,
    NodeState,
    NodeTold,
    NodeType,
    Outcome,
    Reopen,
    RestingHosts,
    Result,
    Robots,
    Seed,
    StoreOwner,
    TakenBucket,
    WebToken,
    Wish,
)
from weft.model.site import Site

# Calls that several callers share.


class AddLinks(Protocol):
    def add(self, links: Sequence[NewLink]) -> int:
        """Make links known and pending; a known one is left as it is. Returns how many are new."""


class ReadSites(Protocol):
    def sites(self) -> list[Site]: ...


class ReadRobots(Protocol):
    def robots(self, origins: Sequence[str]) -> dict[str, Robots]: ...


class ReadNodes(Protocol):
    def nodes(self) -> list[Node]: ...


class ReadWishes(Protocol):
    def wishes(self, after: str = "", limit: int = 1000) -> list[Wish]:
        """Pages that are wanted now, by rising uri, from the one behind `after` on."""


# Calls by who makes them.


class NodeCalls(Protocol):
    """Every role: it registers, renews its lease and leaves."""

    def register(self, type: NodeType, address: str, row: int = 0, about: NodeAbout | None = None) -> Lease:  # noqa: A002
        """A new epoch for the node at this address; what its last epoch held is freed.

        Raises NodeRefused if a living node stands in its way: one of another machine with this address or with
        another token, or a second one of a type of which there may be only one.
        """

    def heartbeat(self, lease: Lease, told: NodeTold | None = None) -> NodeState:
        """Renew; returns what the node is asked to be. Raises LeaseLost when the epoch is void."""

    def tell(self, lease: Lease, state: NodeState) -> None:
        """Store what the node is now; offline gives back all that it holds."""


class UrlServerCalls(NodeCalls, AddLinks, ReadSites, ReadRobots, ReadWishes, Protocol):
    """A URL server, which is registered as a crawler: it claims links and learns about their hosts."""

    def claim(self, crawler: Lease, limit: int = 5, reject: Collection[str] = ()) -> Chunk | None:
        """Take up to `limit` pending links, spread over web hosts that are ready and not rejected, as a new chunk.

        None when none wait. They are the crawler's until reported, released or its lease ends.
        """

    def outcomes(self, doc_ids: Sequence[DocId]) -> dict[DocId, Outcome]: ...

    def lost(self, crawler: Lease, links: Sequence[tuple[DocId, int]]) -> list[Outcome]:
        """DONE without a stored result: pending again, after three losses error (class lost). (doc_id, claim)

        Returns the outcomes of those that are errors now, with their replacements, which are the crawler's.
        """

    def refuse(self, crawler: Lease, results: Sequence[Result]) -> list[Outcome]:
        """Errors found by the URL server itself (robots, private address, no such host), with their replacements."""

    def release(
        self, crawler: Lease, doc_ids: Sequence[DocId] | None = None, keep: Collection[DocId] = frozenset()
    ) -> int:
        """Give links back to pending, not as a loss; None: everything that this crawler holds and nobody reported.

        Those in `keep` it keeps in any case.
        """

    def defer(self, waits: Mapping[str, int], reasons: Mapping[str, str] | None = None) -> None:
        """No link of these web hosts is claimed for so many milliseconds, whatever the caller's clock says.

        Of two waits of a web host the one that ends later holds, with its own reason (`model/wait_reason`).
        """

    def save_rates(self, rates: Mapping[str, int]) -> None:
        """How often each web host may be asked, as it was learned: requests per 1000 s; 0: by the settings."""

    def rates(self, web_hosts: Sequence[str]) -> dict[str, int]:
        """What was learned of these web hosts; one of which nothing is known is left out."""

    def seal_finished(self, crawler: Lease) -> int:
        """Move finished links out of this crawler's unfinished chunks into a new chunk, crawled at once; how many."""

    def build_queue(self) -> BuildQueue:
        """How much waits for builders, and since when; nothing while no builder is online."""

    def open_robots(self, crawler: Lease, urls: Mapping[str, str]) -> dict[str, ClaimedLink]:
        """A robots link for each origin -> URL (robots.txt or a redirect's target), crawling, outside any chunk."""

    def save_robots(self, robots: Sequence[Robots]) -> None: ...

    def save_addresses(self, addresses: Sequence[Address]) -> None: ...

    def addresses(self, web_hosts: Sequence[str]) -> dict[str, Address]: ...

    def own_slots(self, crawler: Lease) -> frozenset[int]:
        """Which of the 256 address slots (crc32 of the ip key mod 256) are this crawler's alone, now.

        Slots move only from a crawler that gave them up or whose lease ended; a crawler must call this with every
        heartbeat and stop asking addresses that it does not own any more before it calls.
        """


class SpiderCalls(NodeCalls, Protocol):
    """A spider: it looks up what to fetch and reports how that ended."""

    def details(self, doc_ids: Sequence[DocId]) -> dict[DocId, Details]:
        """What is needed to fetch; a link that is not being crawled is left out."""

    def report(self, results: Sequence[Result], clock: Clock | None = None) -> list[bool]:
        """Store how fetches ended, in any order, any number of times; tells of each whether it was (or had been) taken.

        `clock` is the one that their times were taken from: they are stored by the control plane's own.

        An error picks a pending link into the same chunk, remembered with the outcome. Late ones (an older claim or a
        void epoch) change nothing.
        """


class BuilderCalls(NodeCalls, ReadSites, Protocol):
    """The index process, which is registered as an index builder: it loads crawled chunks."""

    def take_crawled(self, builder: Lease, most: int = 5) -> list[BuildChunk]: ...

    def built(self, builder: Lease, chunk: ChunkId, attempt: int, seq: int) -> bool:
        """The chunk is in the index; False if it is not this attempt's any more: another builder reports it then.

        `seq` is that of a round of the index by which all of the chunk was in, its own or a later one. The chunk is
        placed on every index server that is not offline.
        """

    def wait_for_records(self, builder: Lease, chunk: ChunkId, attempt: int, node: str, wait: int) -> bool:
        """Give back a chunk with records on a node that cannot be reached; this counts neither as error nor as loss.

        It is offered again after `wait` milliseconds, or when that node is back. False: it is not this attempt's any
        more.
        """

    def records_back(self, builder: Lease, node: str = "") -> int:
        """Offer the chunks that wait for this node at once, or for any node; returns how many."""

    def unbuilt(self, chunks: Sequence[ChunkId]) -> set[ChunkId]:
        """Those of these chunks that a builder may get, has, or failed to build. The others never come again, unless
        the index lost them."""

    def build_failed(self, builder: Lease, chunk: ChunkId, attempt: int, reason: str) -> bool:
        """Offered again; left in error with its reason after three times."""


class DispatcherCalls(ReadWishes, Protocol):
    """The dispatcher, inside the index process: it hands over what is to be crawled next."""

    def reopen(self, wanted: Sequence[Reopen]) -> list[bool]:
        """Make links pending again; an unknown one becomes known. Tells of each whether it is pending now."""

    def settle_wishes(self, granted: Sequence[Wish], instead: Sequence[Wish] = ()) -> None:
        """Forget wishes that are granted, unless they were renewed meanwhile; others stand from now on."""

    def add_sites(self, sites: Sequence[Site]) -> None:
        """Make sites known; one that is there is left as it is."""


class IndexServerCalls(NodeCalls, Protocol):
    """An index server: it owns shards of its row, and follows the rounds of the index by itself."""

    def own_shards(self, server: Lease, count: int) -> frozenset[int]:
        """Which of the `count` shards of its row are this server's alone, now.

        The servers of a row, which name the same count, divide its shards evenly while they are online or paused; one
        that drains keeps what it has and takes nothing. Shards move only from a server that gave them up or left, or
        whose lease ended. A server must call this with every heartbeat: a shard that is missing in the answer is free
        for others with its next call. When it gets another shard, nothing is acknowledged any more.
        """

    def acknowledge(self, server: Lease, seq: int) -> None:
        """Everything up to this seq of the index is committed in all shards of the last answer of `own_shards`.

        A lower seq than before changes nothing. It starts at 0 again when the server registers, because nobody knows
        what a new process finds on its disk, when it gets another shard, and when the index is built again. A server
        that drops its index while it runs registers again.
        """


class WebAppCalls(NodeCalls, ReadNodes, Protocol):
    """A web app, for itself: what it shows and changes for people are OperatorCalls."""

    def close(self) -> None: ...


class OperatorCalls(AddLinks, ReadSites, ReadRobots, ReadNodes, Protocol):
    """People, through commands and other programs: they look, add links, change sites, and steer nodes."""

    def want(self, seeds: Sequence[Seed]) -> int:
        """Make links known, as `add` does, and have them fetched now whatever became of them before; how many are new.

        Waits of their hosts end, unless the servers asked for them, and a robots.txt that could not be fetched is
        fetched again.
        """

    def known(self, uris: Sequence[str]) -> dict[str, LinkFacts]:
        """What is known of pages' links, by uri; an unknown one is left out."""

    def set_sites(self, sites: Sequence[Site]) -> None:
        """All or none of them; one that is there is replaced."""

    def ask(self, node: NodeId, state: NodeState) -> None:
        """Ask a node to pause, drain or carry on."""

    def reap(self) -> int:
        """Free what nodes with an ended lease held; how many nodes. Heartbeats and registrations do so too."""

    def retry(self, chunks: Sequence[ChunkId] | None = None) -> int:
        """Offer chunks in error again; None: all."""

    def add_web_token(self, token: WebToken, digest: str) -> bool:
        """Keep a token by its digest; False: another one has its id. Raises MgmtError at a thousand."""

    def web_tokens(self) -> dict[str, WebToken]:
        """The tokens that work, by digest, the oldest first."""

    def use_web_token(self, token: str, used: int) -> None:
        """Note when the token with this id was used; an older time changes nothing."""

    def revoke_web_token(self, token: str) -> bool:
        """The token with this id works no more; False: there is none."""

    def agree(self, facts: Mapping[str, str], *, replaces: bool = False) -> dict[str, str]:
        """Record what all processes must agree on, and return what is recorded.

        What is recorded stays once a link is known, unless `replaces` is set.
        """

    def own_store(self, store: StoreOwner, *, replaces: bool = False) -> StoreOwner:
        """Record the store of this control plane, and return the one that is recorded.

        The first one stays, unless `replaces` is set; one that was moved is recorded with its new place. Batches that
        were registered for another store are forgotten.
        """

    def adopt_index(self, index: AdoptedIndex) -> None:
        """Record another store in place of the present one. Whoever owned the index can register nothing more."""

    def index_store(self) -> StoreOwner | None:
        """The store of this control plane; None: no index process has started yet."""

    def built_links(self, after: str = "", limit: int = 1000) -> list[BuiltLink]:
        """The last results of pages that an index should hold, because their chunks are built.

        By rising uri, from the one behind `after` on.
        """

    def offer_built(self, after: int = -1, chunks: Sequence[ChunkId] = ()) -> int:
        """Offer chunks that were built again, for an index that lacks them; returns how many.

        Those with a seq above `after`, which are all by default, and `chunks`.
        """

    def counts(self) -> Counts: ...

    def archived(self, after: int = 0, limit: int = 10_000) -> list[ArchivedRecord]:
        """Records that links' results name, robots.txt too, by rising doc_id, from the one behind `after` on."""

    def resting_hosts(self, wait: int, most: int = 10) -> RestingHosts:
        """Web hosts of which links wait, and none may be claimed for more than `wait` milliseconds; lists `most`."""

    def table(self, relation: str, after: int = 0, limit: int = 100) -> list[dict[str, object]]:
        """Rows of a relation by rising index, in the columns of `relations`."""


class OwnerCalls(Protocol):
    """Whoever writes the index of a cluster."""

    def take_bucket(self, owner: Lease, bucket: int = 0) -> TakenBucket:
        """Become the owner under this lease: whoever was it before can register nothing more.

        Raises IndexOwned while another node with a living lease is the owner.
        """

    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        """Keep `batch` as the owner's last one, in place of the one with seq `before`.

        The same call again is harmless. Raises OwnerReplaced if the epoch is not the owner's any more or another batch
        is the last one, and WritingHeld while somebody holds writing; then nothing is kept.
        """


class HolderCalls(Protocol):
    """Whoever needs the index of a cluster to hold still for a while."""

    def hold_writing(self, id_: str, holder: str, seconds: float, bucket: int = 0) -> TakenBucket:
        """From now on, for so many seconds, no batch is registered; returns the last one that was.

        That one may still be on its way into the store. The same call again, with the same id, extends the hold.
        """

    def release_writing(self, id_: str) -> None:
        """End a hold, if it has not ended by itself."""

    def writing_holders(self) -> list[str]:
        """Who holds writing now."""


class Mgmt(
    UrlServerCalls,
    SpiderCalls,
    BuilderCalls,
    DispatcherCalls,
    IndexServerCalls,
    OwnerCalls,
    HolderCalls,
    OperatorCalls,
    Protocol,
):
    """The whole control plane, for whoever opens it and closes it."""

    def close(self) -> None: ...

"""The control plane over a database: every call is one transaction."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Concatenate, Final, ParamSpec, TypeVar

from weft.config.sections import MgmtSettings
from weft.mgmt.sql import building as of_building
from weft.mgmt.sql import hosts as of_hosts
from weft.mgmt.sql import known as of_known
from weft.mgmt.sql import links as of_links
from weft.mgmt.sql import nodes as of_nodes
from weft.mgmt.sql import results as of_results
from weft.mgmt.sql import tables as of_tables
from weft.mgmt.sql.database import Database, Transaction
from weft.mgmt.sql.ledger import Ledger
from weft.mgmt.values import (
    Address,
    BuildChunk,
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
    NodeId,
    NodeState,
    NodeType,
    Outcome,
    Placement,
    Reopen,
    Result,
    Robots,
)
from weft.model.site import Site

T = TypeVar("T")
P = ParamSpec("P")

BUSY_TRIES: Final = 50


class SqlMgmt:
    def __init__(self, database: Database, settings: MgmtSettings) -> None:
        self._database, self._settings = database, settings

    # links

    def add(self, links: Sequence[NewLink]) -> int:
        return self._counted(of_links.add, links)

    def claim(self, crawler: Lease, limit: int = 5, reject: Collection[str] = ()) -> Chunk | None:
        rejected = reject if isinstance(reject, Set | Mapping) else frozenset(reject)
        for _ in range(BUSY_TRIES):
            try:
                return self._counted(of_links.claim, crawler, limit, rejected)
            except of_links.AllHostsBusy:
                time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - no secret
        return None

    def details(self, doc_ids: Sequence[DocId]) -> dict[DocId, Details]:
        return self._read(of_hosts.details, doc_ids)

    def report(self, results: Sequence[Result]) -> list[bool]:
        return self._counted(of_results.report, results)

    def outcomes(self, doc_ids: Sequence[DocId]) -> dict[DocId, Outcome]:
        return self._read(of_results.outcomes, doc_ids)

    def known(self, uris: Sequence[str]) -> dict[str, LinkFacts]:
        return self._read(of_known.known, uris)

    def lost(self, crawler: Lease, links: Sequence[tuple[DocId, int]]) -> None:
        self._counted(of_links.lost, crawler, links)

    def refuse(self, crawler: Lease, results: Sequence[Result]) -> list[Outcome]:
        return self._counted(of_links.refuse, crawler, results)

    def release(self, crawler: Lease, doc_ids: Sequence[DocId] | None = None) -> int:
        return self._counted(of_links.release_held, crawler, doc_ids)

    def reopen(self, wanted: Sequence[Reopen]) -> list[bool]:
        return self._counted(of_links.reopen, wanted)

    def defer(self, until: Mapping[str, int]) -> None:
        self._counted(of_links.defer, until)

    def linger(self, crawler: Lease) -> int:
        return self._counted(of_links.linger, crawler)

    # web hosts

    def open_robots(self, crawler: Lease, urls: Mapping[str, str]) -> dict[str, ClaimedLink]:
        return self._write(of_hosts.open_robots, crawler, urls)

    def save_robots(self, robots: Sequence[Robots]) -> None:
        self._write(of_hosts.save_robots, robots)

    def robots(self, origins: Sequence[str]) -> dict[str, Robots]:
        return self._read(of_hosts.robots, origins)

    def save_addresses(self, addresses: Sequence[Address]) -> None:
        self._write(of_hosts.save_addresses, addresses)

    def addresses(self, web_hosts: Sequence[str]) -> dict[str, Address]:
        return self._read(of_hosts.addresses, web_hosts)

    def own_slots(self, crawler: Lease) -> frozenset[int]:
        return self._write(of_hosts.own_slots, crawler)

    # building

    def take_crawled(self, builder: Lease, most: int = 5) -> list[BuildChunk]:
        return self._write(of_building.take_crawled, builder, most)

    def built(self, builder: Lease, chunk: ChunkId, attempt: int) -> bool:
        return self._counted(of_building.built, builder, chunk, attempt)

    def build_failed(self, builder: Lease, chunk: ChunkId, attempt: int, reason: str) -> bool:
        return self._write(of_building.build_failed, builder, chunk, attempt, reason)

    def retry(self, chunks: Sequence[ChunkId] | None = None) -> int:
        return self._write(of_building.retry, chunks)

    def next_placement(self, server: Lease, after: int) -> Placement | None:
        return self._read(of_building.next_placement, server, after)

    def acknowledge(self, server: Lease, number: int) -> None:
        self._write(of_building.acknowledge, server, number)

    # nodes

    def register(self, type: NodeType, address: str, row: int = 0) -> Lease:  # noqa: A002
        self.reap()
        return self._counted(of_nodes.register, type, address, row)

    def heartbeat(self, lease: Lease) -> NodeState:
        asked, late = self._write(of_nodes.renew, lease)
        # If we were away as well, the others may only seem late.
        if not of_nodes.is_ended(late, self._settings):
            self.reap()
        return asked

    def tell(self, lease: Lease, state: NodeState) -> None:
        self._counted(of_nodes.tell, lease, state)

    def ask(self, node: NodeId, state: NodeState) -> None:
        self._write(of_nodes.ask, node, state)

    def reap(self) -> int:
        silent = self._read(of_nodes.silent, self._settings, self._is_dead)
        reaped = sum(self._counted(of_nodes.reap, node, self._settings, self._is_dead) for node in silent)
        unwell = self._read(of_nodes.unwell, self._settings)
        if unwell:
            self._write(of_nodes.write_health, unwell)
        return reaped

    def _is_dead(self, node: NodeId, epoch: int) -> bool:
        """Whether that process is known to be gone; a database alone cannot tell."""
        return False

    def nodes(self) -> list[Node]:
        return self._read(of_nodes.nodes, self._settings)

    # sites, status

    def sites(self) -> list[Site]:
        return self._read(of_hosts.sites)

    def set_sites(self, sites: Sequence[Site]) -> None:
        self._write(of_hosts.set_sites, sites)

    def counts(self) -> Counts:
        return self._read(of_tables.counts, self._settings)

    def table(self, relation: str, after: int = 0, limit: int = 100) -> list[dict[str, object]]:
        return self._read(of_tables.table, relation, after, limit, self._settings)

    def close(self) -> None:
        self._database.close()

    def _read(self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **named: P.kwargs) -> T:
        return self._database.read(lambda tx: work(tx, *args, **named))

    def _write(self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **named: P.kwargs) -> T:
        return self._database.write(lambda tx: work(tx, *args, **named))

    def _counted(self, work: Callable[Concatenate[Transaction, Ledger, P], T], *args: P.args, **named: P.kwargs) -> T:
        """A transaction that changes links: what is counted beside them changes with it."""

        def whole(tx: Transaction) -> T:
            ledger = Ledger()
            answer = work(tx, ledger, *args, **named)
            ledger.settle(tx)
            return answer

        return self._database.write(whole)

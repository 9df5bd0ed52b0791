"""The control plane over a database: every call is one transaction, and this table says of which kind."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Collection, Mapping, Set
from typing import Concatenate, Final, ParamSpec, TypeVar

from weft.config.sections import MgmtSettings
from weft.mgmt.rules.leases import is_ended
from weft.mgmt.sql import (
    buckets,
    chunks,
    claims,
    identity,
    index_servers,
    leases,
    links,
    moving,
    nodes,
    overview,
    results,
    slots,
    web_hosts,
    web_tokens,
    wishes,
)
from weft.mgmt.sql.clock_jumps import ClockWentBack, cut_waits, in_time
from weft.mgmt.sql.counters import CounterChanges
from weft.mgmt.sql.database import Database, Transaction
from weft.mgmt.values import (
    AdoptedIndex,
    Chunk,
    Counts,
    Lease,
    Node,
    NodeAbout,
    NodeId,
    NodeState,
    NodeTold,
    NodeType,
    TakenBucket,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")

BUSY_TRIES: Final = 50


def reads(work: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[SqlMgmt, P], T]:
    """A call that changes nothing."""

    def call(mgmt: SqlMgmt, /, *args: P.args, **named: P.kwargs) -> T:
        return mgmt._database.read(lambda tx: work(tx, *args, **named))

    return call


def writes(work: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[SqlMgmt, P], T]:
    """A call that changes no link's state."""

    def call(mgmt: SqlMgmt, /, *args: P.args, **named: P.kwargs) -> T:
        return mgmt._write(lambda tx: work(tx, *args, **named))

    return call


def counts_links(
    work: Callable[Concatenate[Transaction, CounterChanges, P], T],
) -> Callable[Concatenate[SqlMgmt, P], T]:
    """A call that changes links: the counts that are kept next to them change in the same transaction."""

    def call(mgmt: SqlMgmt, /, *args: P.args, **named: P.kwargs) -> T:
        def whole(tx: Transaction) -> T:
            counters = CounterChanges()
            answer = work(tx, counters, *args, **named)
            counters.write(tx)
            return answer

        return mgmt._write(whole)

    return call


class SqlMgmt:
    def __init__(self, database: Database, settings: MgmtSettings) -> None:
        self._database, self._settings = database, settings

    def close(self) -> None:
        self._database.close()

    def _write(self, work: Callable[[Transaction], T]) -> T:
        """In one transaction; if the clock was set back, waits are cut first."""
        while True:
            try:
                return self._database.write(lambda tx: in_time(tx, work))
            except ClockWentBack:
                by = self._database.write(cut_waits)
                if by:
                    log.warning("the clock went back by %.0f s; waits are cut to their own length", by / 1000)

    add = counts_links(links.add)
    known = reads(links.known)
    details = reads(links.details)
    release = counts_links(links.release_held)
    reopen = counts_links(links.reopen)
    defer = counts_links(links.defer)

    want = counts_links(wishes.want)
    settle_wishes = writes(wishes.settle_wishes)
    wishes = reads(wishes.wishes)

    report = counts_links(results.report)
    refuse = counts_links(results.refuse)
    lost = counts_links(results.lost)
    outcomes = reads(results.outcomes)

    seal_finished = counts_links(chunks.seal_finished)
    take_crawled = writes(chunks.take_crawled)
    build_queue = reads(chunks.build_queue)
    unbuilt = reads(chunks.unbuilt)
    built = counts_links(chunks.built)
    wait_for_records = writes(chunks.wait_for_records)
    records_back = writes(chunks.records_back)
    build_failed = writes(chunks.build_failed)
    retry = writes(chunks.retry)
    built_links = reads(chunks.built_links)
    offer_built = counts_links(chunks.offer_built)
    acknowledge = writes(index_servers.acknowledge)

    open_robots = writes(web_hosts.open_robots)
    save_robots = writes(web_hosts.save_robots)
    robots = reads(web_hosts.robots)
    save_addresses = writes(web_hosts.save_addresses)
    addresses = reads(web_hosts.addresses)
    save_rates = writes(web_hosts.save_rates)
    rates = reads(web_hosts.rates)
    own_slots = writes(slots.own_slots)
    own_shards = writes(slots.own_shards)
    sites = reads(web_hosts.sites)
    set_sites = writes(web_hosts.set_sites)
    add_sites = writes(web_hosts.add_sites)

    tell = counts_links(nodes.tell)
    ask = writes(nodes.ask)
    own_store = writes(identity.own_store)
    index_store = reads(identity.index_store)
    adopt_index = writes(moving.adopt_index)
    is_unused = reads(moving.is_unused)

    register_batch = writes(buckets.register_batch)
    hold_writing = writes(buckets.hold_writing)
    release_writing = writes(buckets.release_writing)
    writing_holders = reads(buckets.writing_holders)

    add_web_token = writes(web_tokens.add_web_token)
    use_web_token = writes(web_tokens.use_web_token)
    revoke_web_token = writes(web_tokens.revoke_web_token)
    web_tokens = reads(web_tokens.web_tokens)

    # The calls below need the settings, or more than one transaction.

    _claim = counts_links(claims.claim)

    def claim(self, crawler: Lease, limit: int = 5, reject: Collection[str] = ()) -> Chunk | None:
        rejected = reject if isinstance(reject, Set | Mapping) else frozenset(reject)
        for _ in range(BUSY_TRIES):
            try:
                return self._claim(crawler, limit, rejected)
            except claims.AllHostsBusy:
                time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - no secret
        return None

    _agree = writes(identity.agree)
    _agreed = reads(lambda tx: identity.agree(tx, {}))

    def agree(self, facts: Mapping[str, str], *, replaces: bool = False) -> dict[str, str]:
        return self._agree(facts, replaces=replaces) if facts else self._agreed()

    _register = counts_links(nodes.register)

    def register(self, type: NodeType, address: str, row: int = 0, about: NodeAbout | None = None) -> Lease:  # noqa: A002
        self.reap()
        return self._register(type, address, row, about or NodeAbout(), self._settings)

    _take_bucket = writes(buckets.take_bucket)

    def take_bucket(self, owner: Lease, bucket: int = 0) -> TakenBucket:
        self.reap()
        return self._take_bucket(owner, bucket)

    _renew = writes(nodes.renew)

    def heartbeat(self, lease: Lease, told: NodeTold | None = None) -> NodeState:
        asked, late = self._renew(lease, told or NodeTold())
        # If we were away as well, the others may only seem late.
        if not is_ended(late, self._settings.lease):
            self.reap()
        return asked

    _ended_nodes = reads(leases.ended_nodes)
    _reap = counts_links(nodes.reap)
    _living_epochs = reads(leases.living_epochs)
    _changed_health = reads(leases.changed_health)
    _write_health = writes(nodes.write_health)

    _look_at_clock = writes(lambda tx: None)

    def reap(self) -> int:
        self._look_at_clock()
        ended = self._ended_nodes(self._settings, self._is_dead)
        reaped = sum(self._reap(node, self._settings, self._is_dead) for node in ended)
        changed = self._changed_health(self._settings)
        if changed:
            self._write_health(changed)
        return reaped

    def _is_dead(self, node: NodeId, epoch: int) -> bool:
        """Whether that process is known to be gone; a database alone cannot tell."""
        return False

    _nodes = reads(leases.nodes)

    def nodes(self) -> list[Node]:
        return self._nodes(self._settings)

    _counts = reads(overview.counts)

    def counts(self) -> Counts:
        return self._counts(self._settings)

    archived = reads(overview.archived)
    resting_hosts = reads(overview.resting_hosts)

    def copy_into(self, target: SqlMgmt, index: AdoptedIndex, where: str) -> int:
        """Copy everything but who holds what now into an empty control plane, whose index is another one."""
        return moving.copy_control_plane(self._database, target._database, index, where)

    _table = reads(overview.table)

    def table(self, relation: str, after: int = 0, limit: int = 100) -> list[dict[str, object]]:
        return self._table(relation, after, limit, self._settings)

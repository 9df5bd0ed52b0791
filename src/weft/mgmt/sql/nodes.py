"""The life of our own processes: they register, send heartbeats, leave, and lose what they hold with their lease."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost, MgmtError, TransitionRefused
from weft.mgmt.rules.admission import admit
from weft.mgmt.rules.leases import asked_after_register, remembered, skew_of, stored_figures
from weft.mgmt.rules.transitions import ASKED, Cause, node_after
from weft.mgmt.sql.chunks import offer_again
from weft.mgmt.sql.counters import CounterChanges
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.index_servers import PLACING, catch_up, move, succeed
from weft.mgmt.sql.leases import IsDead, KnownNode, add_node, living, lock_node, lock_node_at
from weft.mgmt.sql.links import release
from weft.mgmt.sql.slots import free_slots
from weft.mgmt.values import Health, Lease, NodeAbout, NodeId, NodeState, NodeTold, NodeType

REGISTERING: Final = 2

_REGISTER: Final = """
UPDATE host SET type = :type, "row" = :row, state = :state, health = 'healthy', asked = :asked, epoch = epoch + 1,
    seen = :now, machine = :machine, version = :version, token = :token, skew = NULL, figures = '{}', acknowledged = 0
WHERE "index" = :node RETURNING epoch
"""
_SEEN: Final = """SELECT asked, seen FROM host WHERE "index" = :node AND epoch = :epoch {update}"""
_RENEW: Final = """
UPDATE host SET seen = :now, skew = COALESCE(:skew, skew), figures = COALESCE(:figures, figures) WHERE "index" = :node
"""
_TELL: Final = """UPDATE host SET state = :state WHERE "index" = :node"""
_ASK: Final = """UPDATE host SET asked = :state WHERE "index" = :node"""
_VOID: Final = """UPDATE host SET state = :state, health = :health, epoch = epoch + 1 WHERE "index" = :node"""
# The newest row stays: SQLite would give its number to the next node, which a process taken for dead could pass for.
_FORGET: Final = """
DELETE FROM host
WHERE state = 'offline' AND asked <> 'paused' AND seen < :long_ago AND "index" < (SELECT max("index") FROM host)
    AND host NOT IN (SELECT c_host FROM crawler)
    AND host NOT IN (SELECT ib_host FROM index_builder)
    AND host NOT IN (SELECT is_host FROM index_server)
    AND "index" NOT IN (
        SELECT node FROM slot WHERE node IS NOT NULL UNION SELECT former FROM slot WHERE former IS NOT NULL
        UNION SELECT node FROM bucket WHERE node IS NOT NULL)
"""
_HEALTH: Final = """UPDATE host SET health = :health WHERE "index" = :node AND state <> 'offline'"""


def register(
    tx: Transaction,
    counters: CounterChanges,
    type_: NodeType,
    address: str,
    row: int,
    about: NodeAbout,
    settings: MgmtSettings,
    hold: Callable[[Lease], None] = lambda lease: None,
) -> Lease:
    """`hold` gets the new lease before anybody else can know of it.

    Nodes that are gone for long, and of which nothing is left, are forgotten: with every run most have other ports.
    """
    tx.serialise(REGISTERING)
    if type_ is NodeType.INDEX_SERVER:
        tx.serialise(PLACING)
    admit(type_, address, about, living(tx, settings))
    node = lock_node_at(tx, address) or add_node(tx, type_, address)
    if node.state is not NodeState.OFFLINE:
        void(tx, counters, node, Cause.LEASE_END)
    state = node_after(NodeState.OFFLINE, Cause.REGISTER, address)
    asked = asked_after_register(node.asked)
    facts = {"type": type_.value, "row": row, "state": state.value, "asked": asked.value}
    told = {"machine": about.machine, "version": about.version, "token": about.token}
    ((epoch,),) = tx.rows(_REGISTER, node=node.id, now=tx.now, **facts, **told)
    if row != node.row:
        move(tx, address, row)
    if type_ is NodeType.INDEX_SERVER:
        succeed(tx, node.id, row, about.machine)
        catch_up(tx, node.id)
    tx.run(_FORGET, long_ago=tx.now - remembered(settings))
    lease = Lease(node.id, address, epoch)
    hold(lease)
    return lease


def renew(tx: Transaction, lease: Lease, told: NodeTold) -> tuple[NodeState, int]:
    """What the node is asked to be, and how long ago its last heartbeat was."""
    found = tx.rows(_SEEN, node=lease.node, epoch=lease.epoch)
    if not found:
        raise LeaseLost(lease.address, lease.epoch)
    asked, seen = found[0]
    tx.run(_RENEW, node=lease.node, now=tx.now, skew=skew_of(told, tx.now), figures=stored_figures(told))
    return NodeState(asked), tx.now - seen


def tell(tx: Transaction, counters: CounterChanges, lease: Lease, state: NodeState) -> None:
    node = lock_node(tx, lease.node)
    if node is None or node.epoch != lease.epoch:
        if state is NodeState.OFFLINE:
            return  # it has left already, or was taken for dead: there is nothing left to give back
        raise LeaseLost(lease.address, lease.epoch)
    if state is NodeState.OFFLINE:
        void(tx, counters, node, Cause.LEAVE)
    else:
        tx.run(_TELL, node=node.id, state=node_after(node.state, ASKED[state], node.address).value)


def ask(tx: Transaction, node: NodeId, state: NodeState) -> None:
    if state is NodeState.OFFLINE:
        raise TransitionRefused(f"node {node}: a node goes offline by itself; ask it to drain, and stop it then")
    if not tx.run(_ASK, node=node, state=state.value):
        raise MgmtError(f"node {node}: no such node; expected one that has registered")


def write_health(tx: Transaction, found: Iterable[tuple[NodeId, Health]]) -> None:
    for node, health in found:
        tx.run(_HEALTH, node=node, health=health.value)


def reap(tx: Transaction, counters: CounterChanges, id_: NodeId, settings: MgmtSettings, is_dead: IsDead) -> bool:
    """Void one node's epoch, if its lease still looks ended now that it is locked."""
    node = lock_node(tx, id_)
    if node is None or node.state is NodeState.OFFLINE or not node.has_ended(tx.now, settings, is_dead):
        return False
    void(tx, counters, node, Cause.LEASE_END)
    return True


def void(tx: Transaction, counters: CounterChanges, node: KnownNode, cause: Cause) -> None:
    """End a node's epoch and free all that it holds; the node is locked."""
    health = Health.HEALTHY if cause is Cause.LEAVE else Health.FAILURE
    state = node_after(node.state, cause, node.address)
    tx.run(_VOID, node=node.id, state=state.value, health=health.value)
    freed = Cause.RELEASE if cause is Cause.LEAVE else Cause.LEASE_END
    release(tx, counters, node.id, None, freed)
    offer_again(tx, node.address, freed, f"the lease of its builder {node.address} has ended")
    free_slots(tx, node.id)

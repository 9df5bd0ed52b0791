"""Our own processes: their epochs, signs of life, and what becomes of the work of those that fall silent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost, MgmtError, TransitionRefused
from weft.mgmt import rules
from weft.mgmt.sql.building import catch_up, offer_again
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.ledger import Ledger
from weft.mgmt.sql.links import release
from weft.mgmt.transitions import ASKED, Cause, node_after
from weft.mgmt.values import Health, Lease, Node, NodeId, NodeState, NodeType

REGISTERING: Final = 2

_COLUMNS: Final = """ "index", host, type, state, health, asked, epoch, seen """
_BY_ADDRESS: Final = f"SELECT {_COLUMNS} FROM host WHERE host = :address {{lock}}"  # noqa: S608
_BY_INDEX: Final = f'SELECT {_COLUMNS} FROM host WHERE "index" = :node {{lock}}'  # noqa: S608
_LIVING: Final = f"SELECT {_COLUMNS} FROM host WHERE state <> 'offline' ORDER BY \"index\""  # noqa: S608
_ALL: Final = f"""
SELECT {_COLUMNS},
    (SELECT COALESCE(sum(crawling), 0) FROM crawler WHERE c_host = host.host AND c_task = 'crawling')
    + (SELECT count(*) FROM link WHERE node = host."index" AND link.state = 'crawling' AND kind = 'robots')
    + (SELECT count(*) FROM index_builder WHERE ib_host = host.host AND ib_task <> 'built' AND ib_task = 'building')
    + placed - acknowledged
FROM host ORDER BY "index"
"""  # noqa: S608
_NEW: Final = """
INSERT INTO host (host, type, state, health, asked, epoch, seen)
VALUES (:address, :type, 'offline', 'healthy', 'online', 0, :now) RETURNING "index"
"""
_REGISTER: Final = """
UPDATE host SET type = :type, "row" = :row, state = :state, health = 'healthy', asked = :asked, epoch = epoch + 1,
    seen = :now
WHERE "index" = :node RETURNING epoch
"""
_SEEN: Final = """SELECT asked, seen FROM host WHERE "index" = :node AND epoch = :epoch {update}"""
_RENEW: Final = """UPDATE host SET seen = :now WHERE "index" = :node"""
_TELL: Final = """UPDATE host SET state = :state WHERE "index" = :node"""
_ASK: Final = """UPDATE host SET asked = :state WHERE "index" = :node"""
_VOID: Final = """UPDATE host SET state = :state, health = :health, epoch = epoch + 1 WHERE "index" = :node"""
_HEALTH: Final = """UPDATE host SET health = :health WHERE "index" = :node AND state <> 'offline'"""
_FREE_SLOTS: Final = "UPDATE slot SET node = NULL, is_leaving = 0 WHERE node = :node"

IsDead = Callable[[NodeId, int], bool]
"""Whether the process with this node and epoch is known to be gone, however recent its last sign of life."""


class KnownNode(NamedTuple):
    id: NodeId
    address: str
    type: NodeType
    state: NodeState
    health: Health
    asked: NodeState
    epoch: int
    seen: int


def _node(row: Row) -> KnownNode:
    id_, address, type_, state, health, asked, epoch, seen = row[:8]
    return KnownNode(id_, address, NodeType(type_), NodeState(state), Health(health), NodeState(asked), epoch, seen)


def register(tx: Transaction, ledger: Ledger, type_: NodeType, address: str, row: int) -> Lease:
    tx.serialise(REGISTERING)
    found = tx.rows(_BY_ADDRESS, address=address)
    if not found:
        tx.rows(_NEW, address=address, type=type_.value, now=tx.now)
        found = tx.rows(_BY_ADDRESS, address=address)
    node = _node(found[0])
    if node.state is not NodeState.OFFLINE:
        void(tx, ledger, node, Cause.LEASE_END)
    state = node_after(NodeState.OFFLINE, Cause.REGISTER, address)
    asked = rules.asked_after_register(node.asked)
    facts = {"type": type_.value, "row": row, "state": state.value, "asked": asked.value}
    ((epoch,),) = tx.rows(_REGISTER, node=node.id, now=tx.now, **facts)
    if type_ is NodeType.INDEX_SERVER:
        catch_up(tx, node.id)
    return Lease(node.id, address, epoch)


def renew(tx: Transaction, lease: Lease) -> tuple[NodeState, int]:
    """What the node is asked to be, and how late this sign of life was."""
    found = tx.rows(_SEEN, node=lease.node, epoch=lease.epoch)
    if not found:
        raise LeaseLost(lease.address, lease.epoch)
    asked, seen = found[0]
    tx.run(_RENEW, node=lease.node, now=tx.now)
    return NodeState(asked), tx.now - seen


def tell(tx: Transaction, ledger: Ledger, lease: Lease, state: NodeState) -> None:
    found = tx.rows(_BY_INDEX, node=lease.node)
    node = _node(found[0]) if found else None
    if node is None or node.epoch != lease.epoch:
        if state is NodeState.OFFLINE:
            return  # told before, or taken for dead: there is nothing left to give back
        raise LeaseLost(lease.address, lease.epoch)
    if state is NodeState.OFFLINE:
        void(tx, ledger, node, Cause.LEAVE)
    else:
        tx.run(_TELL, node=node.id, state=node_after(node.state, ASKED[state], node.address).value)


def ask(tx: Transaction, node: NodeId, state: NodeState) -> None:
    if state is NodeState.OFFLINE:
        raise TransitionRefused(f"node {node}: a node goes offline by itself; ask it to drain, and stop it then")
    if not tx.run(_ASK, node=node, state=state.value):
        raise MgmtError(f"node {node}: no such node; expected one that has registered")


def silent(tx: Transaction, settings: MgmtSettings, is_dead: IsDead) -> list[NodeId]:
    """Nodes whose work should be freed."""
    living = map(_node, tx.rows(_LIVING))
    return [node.id for node in living if _has_ended(node, tx.now, settings.lease, is_dead)]


def unwell(tx: Transaction, settings: MgmtSettings) -> list[tuple[NodeId, Health]]:
    """Nodes whose health is not what was written down last."""
    living = [_node(row) for row in tx.rows(_LIVING)]
    found = [(node.id, node.health, _health(node, tx.now, settings)) for node in living]
    return [(id_, health) for id_, before, health in found if health is not before]


def _health(node: KnownNode, now: int, settings: MgmtSettings) -> Health:
    return rules.health_of(node.state, node.health, now - node.seen, settings.heartbeat, settings.lease)


def write_health(tx: Transaction, found: Iterable[tuple[NodeId, Health]]) -> None:
    for node, health in found:
        tx.run(_HEALTH, node=node, health=health.value)


def is_ended(late: int, settings: MgmtSettings) -> bool:
    return rules.is_ended(late, settings.lease)


def _has_ended(node: KnownNode, now: int, lease: float, is_dead: IsDead) -> bool:
    return rules.is_ended(now - node.seen, lease) or is_dead(node.id, node.epoch)


def reap(tx: Transaction, ledger: Ledger, id_: NodeId, settings: MgmtSettings, is_dead: IsDead) -> bool:
    """Void one node's epoch, if its lease still looks ended now that it is locked."""
    node = _node(tx.rows(_BY_INDEX, node=id_)[0])
    if node.state is NodeState.OFFLINE or not _has_ended(node, tx.now, settings.lease, is_dead):
        return False
    void(tx, ledger, node, Cause.LEASE_END)
    return True


def void(tx: Transaction, ledger: Ledger, node: KnownNode, cause: Cause) -> None:
    """End a node's epoch and free all that it holds; the node is locked."""
    health = Health.HEALTHY if cause is Cause.LEAVE else Health.FAILURE
    state = node_after(node.state, cause, node.address)
    tx.run(_VOID, node=node.id, state=state.value, health=health.value)
    freed = Cause.RELEASE if cause is Cause.LEAVE else Cause.LEASE_END
    release(tx, ledger, node.id, None, freed)
    offer_again(tx, node.address, freed, f"the lease of its builder {node.address} has ended")
    tx.run(_FREE_SLOTS, node=node.id)


def nodes(tx: Transaction, settings: MgmtSettings) -> list[Node]:
    return [_shown(_node(row), int(row[8]), tx.now, settings) for row in tx.rows(_ALL)]


def _shown(node: KnownNode, holds: int, now: int, settings: MgmtSettings) -> Node:
    return Node(
        id=node.id,
        address=node.address,
        type=node.type,
        state=node.state,
        health=_health(node, now, settings),
        epoch=node.epoch,
        seen=now - node.seen,
        holds=holds,
    )

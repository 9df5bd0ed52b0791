"""Relation `host`, our own processes: how its rows are read, and whether a lease still holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost, MgmtForeign
from weft.mgmt.rules.admission import LivingNode
from weft.mgmt.rules.leases import health_of, is_ended
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.values import Health, Lease, Node, NodeId, NodeState, NodeType

_COLUMNS: Final = """ "index", host, type, state, health, asked, epoch, seen, "row" """
_BY_ADDRESS: Final = f"SELECT {_COLUMNS} FROM host WHERE host = :address {{lock}}"  # noqa: S608
_BY_INDEX: Final = f'SELECT {_COLUMNS} FROM host WHERE "index" = :node {{lock}}'  # noqa: S608
_LIVING: Final = f"SELECT {_COLUMNS} FROM host WHERE state <> 'offline' ORDER BY \"index\""  # noqa: S608
_ALL: Final = f"""
SELECT
    (SELECT COALESCE(sum(crawling), 0) FROM crawler WHERE c_host = host.host AND c_task = 'crawling')
    + (SELECT count(*) FROM link WHERE node = host."index" AND link.state = 'crawling' AND kind = 'robots')
    + (SELECT count(*) FROM index_builder WHERE ib_host = host.host AND ib_task <> 'built' AND ib_task = 'building')
    + CASE WHEN type = '{NodeType.INDEX_SERVER}' AND state <> 'offline' THEN
        (SELECT count(*) FROM index_builder WHERE ib_task = 'built' AND seq > acknowledged) ELSE 0 END,
    machine, version, skew, figures,
    {_COLUMNS}
FROM host ORDER BY "index"
"""  # noqa: S608
_EPOCHS: Final = """SELECT "index", epoch FROM host WHERE state <> 'offline'"""
_ADMITTED: Final = "SELECT host, type, machine, token, seen FROM host WHERE state <> 'offline'"
_NEW: Final = f"""
INSERT INTO host (host, type, state, health, asked, epoch, seen)
VALUES (:address, :type, 'offline', 'healthy', 'online', 0, :now) RETURNING {_COLUMNS}
"""  # noqa: S608

_ALIVE: Final = """SELECT state, asked FROM host WHERE "index" = :node AND epoch = :epoch {share}"""

IsDead = Callable[[NodeId, int], bool]
"""Whether the process with this node and epoch is known to be gone, however recent its last heartbeat."""


class KnownNode(NamedTuple):
    id: NodeId
    address: str
    type: str
    """Not NodeType: a newer weft may have registered one that this weft does not know."""
    state: NodeState
    health: Health
    asked: NodeState
    epoch: int
    seen: int
    row: int

    def has_ended(self, now: int, settings: MgmtSettings, is_dead: IsDead) -> bool:
        return is_ended(now - self.seen, settings.lease) or is_dead(self.id, self.epoch)

    def health_at(self, now: int, settings: MgmtSettings) -> Health:
        return health_of(self.state, self.health, now - self.seen, settings.heartbeat, settings.lease)


def _node(row: Row) -> KnownNode:
    id_, address, type_, state, health, *others = row
    asked, epoch, seen, row_ = others
    return KnownNode(id_, address, type_, NodeState(state), Health(health), NodeState(asked), epoch, seen, row_)


def alive(tx: Transaction, lease: Lease) -> tuple[NodeState, NodeState]:
    """What the node is and is asked to be; raises LeaseLost. The lease cannot end before this transaction does."""
    found = tx.rows(_ALIVE, node=lease.node, epoch=lease.epoch)
    if not found:
        raise LeaseLost(lease.address, lease.epoch)
    state, asked = found[0]
    return NodeState(state), NodeState(asked)


def lock_node(tx: Transaction, id_: NodeId) -> KnownNode | None:
    return _first(tx.rows(_BY_INDEX, node=id_))


def lock_node_at(tx: Transaction, address: str) -> KnownNode | None:
    return _first(tx.rows(_BY_ADDRESS, address=address))


def add_node(tx: Transaction, type_: NodeType, address: str) -> KnownNode:
    """A node that was never seen before: offline, as it is between two registrations."""
    return _node(tx.rows(_NEW, address=address, type=type_.value, now=tx.now)[0])


def _first(rows: list[Row]) -> KnownNode | None:
    return _node(rows[0]) if rows else None


def ended_nodes(tx: Transaction, settings: MgmtSettings, is_dead: IsDead) -> list[NodeId]:
    """Nodes whose work should be freed."""
    living = map(_node, tx.rows(_LIVING))
    return [node.id for node in living if node.has_ended(tx.now, settings, is_dead)]


def changed_health(tx: Transaction, settings: MgmtSettings) -> list[tuple[NodeId, Health]]:
    """Nodes whose health is not what was stored last."""
    found = [(node, node.health_at(tx.now, settings)) for node in map(_node, tx.rows(_LIVING))]
    return [(node.id, health) for node, health in found if health is not node.health]


def living_epochs(tx: Transaction) -> set[tuple[NodeId, int]]:
    """Of all nodes that are not offline."""
    return {(id_, epoch) for id_, epoch in tx.rows(_EPOCHS)}


def nodes(tx: Transaction, settings: MgmtSettings) -> list[Node]:
    return [
        _shown(_node(tuple(row)), int(holds), _Told(*told), tx.now, settings)
        for holds, *told, row in ((row[0], *row[1:5], row[5:]) for row in tx.rows(_ALL))
    ]


class _Told(NamedTuple):
    """What a node told of itself."""

    machine: str
    version: str
    skew: int | None
    figures: str


def living(tx: Transaction, settings: MgmtSettings) -> list[LivingNode]:
    """Nodes whose lease has not ended."""
    found = [LivingNode(*row)._replace(seen=max(0, tx.now - row[-1])) for row in tx.rows(_ADMITTED)]
    return [node for node in found if not is_ended(node.seen, settings.lease)]


def _shown(node: KnownNode, holds: int, told: _Told, now: int, settings: MgmtSettings) -> Node:
    return Node(
        id=node.id,
        address=node.address,
        type=_type_of(node),
        state=node.state,
        health=node.health_at(now, settings),
        epoch=node.epoch,
        seen=max(0, now - node.seen),
        holds=holds,
        asked=node.asked,
        machine=told.machine,
        version=told.version,
        skew=told.skew,
        figures=msgspec.json.decode(told.figures),
        row=node.row,
    )


def _type_of(node: KnownNode) -> NodeType:
    try:
        return NodeType(node.type)
    except ValueError:
        known = ", ".join(NodeType)
        raise MgmtForeign(
            f"node {node.address}: its type is {node.type!r}, registered by a newer weft; expected one of: {known}"
        ) from None

"""Whether a lease still holds."""

from __future__ import annotations

from typing import Final

from weft.errors import LeaseLost
from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import Lease, NodeState

_ALIVE: Final = """SELECT state, asked FROM host WHERE "index" = :node AND epoch = :epoch {share}"""


_EPOCH: Final = """SELECT 1 FROM host WHERE "index" = :node AND epoch = :epoch"""


def check(tx: Transaction, lease: Lease) -> None:
    """For questions, which change nothing: raises LeaseLost."""
    if not tx.rows(_EPOCH, node=lease.node, epoch=lease.epoch):
        raise LeaseLost(lease.address, lease.epoch)


def alive(tx: Transaction, lease: Lease) -> tuple[NodeState, NodeState]:
    """What the node is and is asked to be; raises LeaseLost. The lease cannot end before this transaction does."""
    found = tx.rows(_ALIVE, node=lease.node, epoch=lease.epoch)
    if not found:
        raise LeaseLost(lease.address, lease.epoch)
    return NodeState(found[0][0]), NodeState(found[0][1])

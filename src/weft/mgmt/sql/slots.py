"""Relation `slot`: who owns which part of the addresses, and which shard of a row of index servers."""

from __future__ import annotations

from typing import Final

from weft.mgmt.rules.slots import ADDRESSES, SHARES_SLOTS, Division, Slot, divide, pool_of_row
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.values import Lease, NodeId, NodeType
from weft.model.host import ADDRESS_SLOTS, NO_SLOT

_ALL: Final = "SELECT node, is_leaving, former FROM slot WHERE pool = :pool ORDER BY number {lock}"
_MAKE: Final = "INSERT INTO slot (pool, number) SELECT :pool, number FROM {rows number:int} AS given WHERE true"
_GIVE_UP: Final = """
UPDATE slot SET former = node, node = NULL, is_leaving = 0 WHERE pool = :pool AND number {in slots}
"""
_TAKE: Final = "UPDATE slot SET node = :node WHERE pool = :pool AND number {in slots}"
_LEAVE: Final = "UPDATE slot SET is_leaving = 1 WHERE pool = :pool AND number {in slots}"
_FREE: Final = "UPDATE slot SET former = node, node = NULL, is_leaving = 0 WHERE node = :node"
_OF_OTHERS: Final = "SELECT number FROM slot WHERE pool = :pool AND node <> :node"

_CRAWLERS: Final = """SELECT "index", state FROM host WHERE type = :type ORDER BY "index" """
_SERVERS: Final = """SELECT "index", state FROM host WHERE type = :type AND "row" = :row ORDER BY "index" """
_ROW: Final = """SELECT "row" FROM host WHERE "index" = :node"""
_NEW_SHARDS: Final = """UPDATE host SET acknowledged = 0 WHERE "index" = :node"""

SHARING: Final = 3


def own_slots(tx: Transaction, crawler: Lease) -> frozenset[int]:
    alive(tx, crawler)
    tx.serialise(SHARING)
    sharers = _sharers(tx, _CRAWLERS, type=NodeType.CRAWLER.value)
    return _own(tx, crawler.node, ADDRESSES, ADDRESS_SLOTS, sharers).owned


def own_shards(tx: Transaction, server: Lease, count: int) -> frozenset[int]:
    alive(tx, server)
    tx.serialise(SHARING)
    ((row,),) = tx.rows(_ROW, node=server.node)
    sharers = _sharers(tx, _SERVERS, type=NodeType.INDEX_SERVER.value, row=row)
    division = _own(tx, server.node, pool_of_row(row), max(0, count), sharers)
    if division.taken:
        tx.run(_NEW_SHARDS, node=server.node)
    return division.owned


def _sharers(tx: Transaction, sql: str, **values: object) -> list[NodeId]:
    return [node for node, state in tx.rows(sql, **values) if state in SHARES_SLOTS]


def _own(tx: Transaction, me: NodeId, pool: str, count: int, sharers: list[NodeId]) -> Division:
    division = divide(_slots(tx, pool, count), count, me, sharers)
    for sql, slots in ((_GIVE_UP, division.given_up), (_TAKE, division.taken), (_LEAVE, division.leaving)):
        if slots:
            tx.run(sql, pool=pool, slots=slots, **({"node": me} if sql is _TAKE else {}))
    return division


def _slots(tx: Transaction, pool: str, count: int) -> list[Slot]:
    slots = [Slot(node, bool(is_leaving), former) for node, is_leaving, former in tx.rows(_ALL, pool=pool)]
    missing = range(len(slots), count)
    if missing:
        tx.run(_MAKE, pool=pool, rows=[[number] for number in missing])
    return slots + [Slot()] * len(missing)


def free_slots(tx: Transaction, node: NodeId) -> None:
    tx.run(_FREE, node=node)


def claimable_slots(tx: Transaction, crawler: NodeId) -> set[int]:
    """All address slots that no other crawler owns, and NO_SLOT."""
    of_others = {number for (number,) in tx.rows(_OF_OTHERS, pool=ADDRESSES, node=crawler)}
    return set(range(NO_SLOT, ADDRESS_SLOTS)) - of_others

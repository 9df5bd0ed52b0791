"""Index servers: every built chunk is placed on each of them, and they tell how far they have come.

`host.acknowledged` and the seq of a chunk say whether a server has it; its row of `index_server` is written once.
"""

from __future__ import annotations

from typing import Final

from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.values import ChunkId, Lease, NodeId, NodeType

_MISSING: Final = """
INSERT INTO index_server ("row", chunk_id, is_host)
SELECT host."row", built.chunk_id, host.host FROM host CROSS JOIN index_builder AS built
WHERE host.type = :type AND host.state <> 'offline' AND built.ib_task = 'built' AND NOT EXISTS (
    SELECT 1 FROM index_server AS placed WHERE placed.is_host = host.host AND placed.chunk_id = built.chunk_id
)"""
_PLACE: Final = f"""{_MISSING} AND built.chunk_id = :chunk ORDER BY host."index" """
_CATCH_UP: Final = f"""{_MISSING} AND host."index" = :server ORDER BY built.chunk_id"""
_SUCCEED: Final = """
DELETE FROM index_server WHERE is_host IN (
    SELECT host FROM host
    WHERE type = :type AND state = 'offline' AND machine = :machine AND "row" = :row AND "index" <> :server
)"""
_MOVE: Final = """UPDATE index_server SET "row" = :row WHERE is_host = :address"""
_ACKNOWLEDGE: Final = """UPDATE host SET acknowledged = :seq WHERE "index" = :server AND acknowledged < :seq"""
_FORGET: Final = "UPDATE host SET acknowledged = 0 WHERE acknowledged <> 0"

PLACING: Final = 6
"""A chunk that is built while a server registers is seen by one of both."""


def place(tx: Transaction, chunk: ChunkId) -> None:
    """On every index server of every row that is not offline."""
    tx.serialise(PLACING)
    tx.run(_PLACE, chunk=chunk, type=NodeType.INDEX_SERVER.value)


def succeed(tx: Transaction, server: NodeId, row: int, machine: str) -> None:
    """A server that registers takes the place of those of its row and machine that are gone: their account ends.

    With every run of weft an index server has another port: without this the account would grow with every run.
    """
    tx.run(_SUCCEED, server=server, row=row, machine=machine, type=NodeType.INDEX_SERVER.value)


def catch_up(tx: Transaction, server: NodeId) -> None:
    """A server that registers gets everything that was built while it was away."""
    tx.run(_CATCH_UP, server=server, type=NodeType.INDEX_SERVER.value)


def move(tx: Transaction, address: str, row: int) -> None:
    """All that a server has is of this row from now on."""
    tx.run(_MOVE, address=address, row=row)


def acknowledge(tx: Transaction, server: Lease, seq: int) -> None:
    alive(tx, server)
    tx.run(_ACKNOWLEDGE, server=server.node, seq=seq)


def forget_acknowledged(tx: Transaction) -> None:
    """The index that they followed is no more."""
    tx.run(_FORGET)

"""Relations `bucket` and `writing_hold`: who owns the index of a cluster, that owner's last batch, and who holds it."""

from __future__ import annotations

from typing import Final

from weft.errors import IndexOwned, OwnerReplaced, WritingHeld
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.values import Lease, TakenBucket

# The row is locked from here on, also where it was there already.
_LOCK: Final = """
INSERT INTO bucket (number, epoch, seq, batch) VALUES (:bucket, 0, 0, :nothing)
ON CONFLICT (number) DO UPDATE SET epoch = bucket.epoch
"""
_OWNER: Final = """
SELECT host.host, host.machine, host.seen FROM bucket JOIN host ON host."index" = bucket.node
WHERE bucket.number = :bucket AND bucket.node <> :node AND host.epoch = bucket.node_epoch AND host.state <> 'offline'
"""
_TAKE: Final = """
UPDATE bucket SET epoch = epoch + 1, node = :node, node_epoch = :node_epoch WHERE number = :bucket
"""
_BUCKET: Final = "SELECT epoch, seq, batch FROM bucket WHERE number = :bucket"
# Its own work too: that is what the same call finds after a COMMIT that was not answered.
_REGISTER: Final = """
UPDATE bucket SET seq = :seq, batch = :batch
WHERE number = :bucket AND epoch = :epoch AND (seq = :before OR (seq = :seq AND batch = :batch))
"""
_START: Final = """
INSERT INTO bucket (number, epoch, seq, batch) VALUES (:bucket, 1, :seq, :batch)
ON CONFLICT (number) DO UPDATE SET epoch = bucket.epoch + 1, node = NULL, node_epoch = NULL, seq = excluded.seq,
    batch = excluded.batch
"""
_HELD: Final = "SELECT holder FROM writing_hold WHERE held_until > :now ORDER BY id"
_HOLD: Final = """
INSERT INTO writing_hold (id, holder, held_until) VALUES (:id, :holder, :until)
ON CONFLICT (id) DO UPDATE SET held_until = excluded.held_until
"""
_RELEASE: Final = "DELETE FROM writing_hold WHERE id = :id OR held_until <= :now"


def take_bucket(tx: Transaction, owner: Lease, bucket: int = 0) -> TakenBucket:
    tx.run(_LOCK, bucket=bucket, nothing=b"")
    alive(tx, owner)
    for address, machine, seen in tx.rows(_OWNER, bucket=bucket, node=owner.node):
        raise IndexOwned(address, machine, max(0, tx.now - seen))
    tx.run(_TAKE, bucket=bucket, node=owner.node, node_epoch=owner.epoch)
    return _bucket(tx, bucket)


def register_batch(tx: Transaction, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
    if not tx.run(_REGISTER, bucket=bucket, epoch=epoch, before=before, seq=seq, batch=batch):
        raise OwnerReplaced(epoch)
    # Behind the update: whoever holds writing locks the same row, and has either seen this batch or is seen here.
    for (holder,) in tx.rows(_HELD, now=tx.now):
        raise WritingHeld(holder)


def start_bucket(tx: Transaction, seq: int, batch: bytes, bucket: int = 0) -> None:
    """Nobody owns it any more, and this is the last batch of the next owner's store."""
    tx.run(_START, bucket=bucket, seq=seq, batch=batch)


def hold_writing(tx: Transaction, id_: str, holder: str, seconds: float, bucket: int = 0) -> TakenBucket:
    tx.run(_HOLD, id=id_, holder=holder, until=tx.now + round(seconds * 1000))
    tx.run(_LOCK, bucket=bucket, nothing=b"")
    return _bucket(tx, bucket)


def release_writing(tx: Transaction, id_: str) -> None:
    tx.run(_RELEASE, id=id_, now=tx.now)


def writing_holders(tx: Transaction) -> list[str]:
    return [holder for (holder,) in tx.rows(_HELD, now=tx.now)]


def _bucket(tx: Transaction, bucket: int) -> TakenBucket:
    ((epoch, seq, batch),) = tx.rows(_BUCKET, bucket=bucket)
    return TakenBucket(epoch, seq, bytes(batch))

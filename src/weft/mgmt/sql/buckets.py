"""Relation `bucket`: who owns the index of a cluster, and the owner's last batch."""

from __future__ import annotations

from typing import Final

from weft.errors import OwnerReplaced
from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import TakenBucket

_TAKE: Final = """
INSERT INTO bucket (number, epoch, seq, batch) VALUES (:bucket, 1, 0, :nothing)
ON CONFLICT (number) DO UPDATE SET epoch = bucket.epoch + 1
"""
_TAKEN: Final = "SELECT epoch, seq, batch FROM bucket WHERE number = :bucket"
# The seq itself too: the same call again, after a COMMIT that was not answered, finds its own work.
_REGISTER: Final = """
UPDATE bucket SET seq = :seq, batch = :batch
WHERE number = :bucket AND epoch = :epoch AND (seq = :before OR seq = :seq)
"""


def take_bucket(tx: Transaction, bucket: int = 0) -> TakenBucket:
    tx.run(_TAKE, bucket=bucket, nothing=b"")
    ((epoch, seq, batch),) = tx.rows(_TAKEN, bucket=bucket)
    return TakenBucket(epoch, seq, bytes(batch))


def register_batch(tx: Transaction, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
    if not tx.run(_REGISTER, bucket=bucket, epoch=epoch, before=before, seq=seq, batch=batch):
        raise OwnerReplaced(epoch)

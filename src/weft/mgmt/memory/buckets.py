"""Who owns the index of a cluster, in the memory twin."""

from __future__ import annotations

from weft.errors import OwnerReplaced
from weft.mgmt.memory.state import MemoryCalls
from weft.mgmt.values import TakenBucket


class MemoryBuckets(MemoryCalls):
    def take_bucket(self, bucket: int = 0) -> TakenBucket:
        known = self._state.buckets.get(bucket, TakenBucket(0, 0, b""))
        taken = self._state.buckets[bucket] = TakenBucket(known.epoch + 1, known.seq, known.batch)
        return taken

    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        known = self._state.buckets.get(bucket)
        if known is None or known.epoch != epoch or known.seq not in (before, seq):
            raise OwnerReplaced(epoch)
        self._state.buckets[bucket] = TakenBucket(epoch, seq, batch)

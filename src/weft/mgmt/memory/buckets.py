"""Who owns the index of a cluster, and who holds writing, in the memory twin."""

from __future__ import annotations

from weft.errors import IndexOwned, OwnerReplaced, WritingHeld
from weft.mgmt.memory.state import MemoryCalls
from weft.mgmt.values import AdoptedIndex, Lease, NodeState, TakenBucket

_UNOWNED = TakenBucket(0, 0, b"")


class MemoryBuckets(MemoryCalls):
    def _take_bucket(self, owner: Lease, bucket: int) -> TakenBucket:
        self._alive(owner)
        self._refuse_beside_an_owner(owner, bucket)
        known = self._state.buckets.get(bucket, _UNOWNED)
        self._state.bucket_owners[bucket] = owner
        taken = self._state.buckets[bucket] = TakenBucket(known.epoch + 1, known.seq, known.batch)
        return taken

    def _refuse_beside_an_owner(self, owner: Lease, bucket: int) -> None:
        lease = self._state.bucket_owners.get(bucket)
        other = self._state.nodes.get(lease.node) if lease and lease.node != owner.node else None
        if lease and other and other.epoch == lease.epoch and other.state is not NodeState.OFFLINE:
            raise IndexOwned(other.address, other.about.machine, self._clock.now() - other.seen)

    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        known = self._state.buckets.get(bucket)
        is_repeated = known is not None and (known.seq, known.batch) == (seq, batch)
        if known is None or known.epoch != epoch or not (known.seq == before or is_repeated):
            raise OwnerReplaced(epoch)
        for holder in self.writing_holders():
            raise WritingHeld(holder)
        self._state.buckets[bucket] = TakenBucket(epoch, seq, batch)

    def adopt_index(self, index: AdoptedIndex) -> None:
        self._state.store = index.store
        known = self._state.buckets.get(0, _UNOWNED)
        self._state.bucket_owners.pop(0, None)
        self._state.buckets[0] = TakenBucket(known.epoch + 1, index.seq, index.batch)

    def hold_writing(self, id_: str, holder: str, seconds: float, bucket: int = 0) -> TakenBucket:
        self._state.holds[id_] = (holder, self._clock.now() + round(seconds * 1000))
        return self._state.buckets.get(bucket, _UNOWNED)

    def release_writing(self, id_: str) -> None:
        self._state.holds.pop(id_, None)

    def writing_holders(self) -> list[str]:
        now = self._clock.now()
        return [holder for _, (holder, until) in sorted(self._state.holds.items()) if until > now]

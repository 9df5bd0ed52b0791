"""What all processes must agree on, in the memory twin."""

from __future__ import annotations

from collections.abc import Mapping

from weft.mgmt.memory.state import MemoryCalls
from weft.mgmt.values import StoreOwner, TakenBucket


class MemoryIdentity(MemoryCalls):
    def agree(self, facts: Mapping[str, str], *, replaces: bool = False) -> dict[str, str]:
        may_replace = replaces or not self._state.links
        for name, value in facts.items():
            if may_replace or name not in self._state.identity:
                self._state.identity[name] = value
        return dict(self._state.identity)

    def index_store(self) -> StoreOwner | None:
        return self._state.store

    def own_store(self, store: StoreOwner, *, replaces: bool = False) -> StoreOwner:
        recorded = self._state.store
        if recorded is None or recorded.id == store.id or replaces:
            if recorded is not None and recorded.id != store.id:
                self._state.buckets = {
                    number: TakenBucket(bucket.epoch + 1, 0, b"") for number, bucket in self._state.buckets.items()
                }
            self._state.store = store
        return self._state.store or store

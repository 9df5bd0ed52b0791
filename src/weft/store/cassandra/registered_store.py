"""The store as the owner of a cluster's index writes it: a batch is registered before the first of its cells is sent.

Whoever takes over writes the last registered batch again, with its own seq, before anything else; so a batch that was
begun is whole before anybody reads to decide. A process that was replaced without knowing it cannot register, and can
only repeat what is registered: writing the same cells under the same seq changes nothing.
"""

from __future__ import annotations

from weft import failpoints
from weft.errors import BatchRefused
from weft.store.api import Batch, Capability
from weft.store.cassandra.registry import Registry, decode_batch, encode_batch
from weft.store.cassandra.store import CassandraStore


class RegisteredStore(CassandraStore):
    capabilities = Capability(0)

    def own(self, registry: Registry) -> RegisteredStore:
        """Take the index over. Afterwards all that was ever begun is in."""
        self._registry = registry
        taken = registry.take()
        self._epoch = taken.epoch
        if taken.seq:
            super().write(decode_batch(taken.batch, self._session.address), taken.seq)
        self._highest = taken.seq
        return self

    def write(self, batch: Batch, seq: int) -> None:
        self._check(batch, seq)
        before = self.last_seq
        if seq <= before:
            raise BatchRefused(self._session.name, f"seq {seq} is not above {before}, the last one written here")
        failpoints.point("store.register.before")
        self._registry.register(self._epoch, before, seq, encode_batch(batch))
        failpoints.point("store.register.after")
        super().write(batch, seq)
        failpoints.point("store.acknowledged")

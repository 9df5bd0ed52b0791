"""The store as the owner of a cluster's index writes it: a batch is registered before the first of its cells is sent.

Whoever takes over writes the last registered batch again, with its own seq, before anything else; so a batch that was
begun is whole before anybody reads to decide. A process that was replaced without knowing it cannot register, and can
only repeat what is registered: writing the same cells under the same seq changes nothing.
"""

from __future__ import annotations

from weft import failpoints
from weft.errors import BatchRefused, StoreError, StoreForeign
from weft.store.api import Batch, Capability
from weft.store.cassandra.registry import Registry, Taken, decode_batch, encode_batch
from weft.store.cassandra.store import CassandraStore


class RegisteredStore(CassandraStore):
    capabilities = Capability(0)
    _failure: StoreError | None = None

    def own(self, registry: Registry) -> RegisteredStore:
        """Take the index over. Afterwards all that was ever begun is in."""
        self._registry = registry
        taken = registry.take()
        self._refuse_lost_batches(taken)
        self._epoch = taken.epoch
        self._write_again(taken)
        self._highest, self._failure = taken.seq, None
        return self

    def _refuse_lost_batches(self, last: Taken) -> None:
        """Batches that the registry does not know may be here in part, and their seqs must not be used again."""
        complete = self.complete_to()
        if complete > last.seq:
            raise StoreForeign(
                self._session.name,
                f"it holds batches up to seq {complete}, and the control plane (mgmt.url) knows of {last.seq}: was "
                "that one put back from an older copy? Put back a newer one, or build the index again in a new "
                "keyspace with `weft restore --new-index`",
            )

    def complete(self, last: Taken) -> None:
        """For whoever holds writing: have the last registered batch in whole, whatever became of its owner."""
        if self.complete_to() < last.seq:
            self._write_again(last)
        self._highest = last.seq

    def _write_again(self, last: Taken) -> None:
        """The same cells under the same seq change nothing where they are in already."""
        if last.seq:
            batch = decode_batch(last.batch, self._session.address)
            self._apply(self._groups(batch, last.seq), last.seq)

    def give_up(self) -> None:
        """Let a write that waits for the cluster end with a StoreError: the next owner writes what was registered."""
        self._session.give_up.set()

    @property
    def waits_for(self) -> str:
        """Why the cluster cannot be read or written now, for people; empty: nothing is in the way."""
        return self._session.waits_for

    def write(self, batch: Batch, seq: int) -> None:
        """After any StoreError but BatchRefused the batch may be in, in part or not at all: own it again, or end."""
        if self._failure is not None:
            raise StoreError(
                self._session.name, f"it must be taken over again after a failure: {self._failure.problem}"
            )
        before = self.last_seq
        if seq <= before:
            raise BatchRefused(self._session.name, f"seq {seq} is not above {before}, the last one written here")
        groups = self._groups(batch, seq)
        try:
            failpoints.point("store.register.before")
            self._registry.register(self._epoch, before, seq, encode_batch(batch))
            failpoints.point("store.register.after")
            self._apply(groups, seq)
            failpoints.point("store.acknowledged")
        except StoreError as error:
            self._failure = error
            raise

"""The control plane's rules behind a server that may not answer.

Each call is a transaction of its own. A COMMIT without an answer has happened, has not, or happens a little later. What
was registered is also kept beside it: that is what the index must hold.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from simulation.baton import Stage, StageClock
from simulation.cluster import ModelCluster
from simulation.tally import Happening, Tally
from weft.config.sections import MgmtSettings
from weft.errors import MgmtUnavailable, OwnerReplaced, WeftError
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import Lease, NodeType, TakenBucket
from weft.store.cassandra.registry import decode_batch
from weft.store.memory import MemoryStore

LEASE: Final = 20
"""Steps; a step is a second."""

_LATEST_COMMIT: Final = 200
"""Steps: long enough for some more batches."""

Answer = TypeVar("Answer")


class Rules(MemoryMgmt):
    """The real rules; `truth` holds every batch that was ever registered, applied in the order of seqs."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(StageClock(stage), MgmtSettings(lease=LEASE))
        self.truth = MemoryStore()
        self.epoch = 0

    def take_bucket(self, owner: Lease, bucket: int = 0) -> TakenBucket:
        taken = super().take_bucket(owner, bucket)
        self.epoch = taken.epoch
        return taken

    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        super().register_batch(epoch, before, seq, batch, bucket)
        if seq > self.truth.last_seq:
            self.truth.write(decode_batch(batch, "model"), seq)


class ModelMgmt:
    """The calls of owners and holders, as they make them over a network."""

    def __init__(self, stage: Stage, rules: Rules, cluster: ModelCluster, tally: Tally) -> None:
        self._stage, self._rules, self._cluster, self._tally = stage, rules, cluster, tally
        self._away_until = 0

    @property
    def is_away(self) -> bool:
        return self._stage.now < self._away_until

    def new_lease(self, address: str) -> Lease:
        return self._transaction(lambda: self._rules.register(NodeType.INDEX_BUILDER, address))

    def take_bucket(self, owner: Lease, bucket: int = 0) -> TakenBucket:
        def take() -> TakenBucket:
            taken = self._rules.take_bucket(owner, bucket)
            self._cluster.epoch = taken.epoch
            self._tally[Happening.TAKEOVER] += 1
            return taken

        return self._transaction(take)

    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        def register() -> None:
            try:
                self._rules.register_batch(epoch, before, seq, batch, bucket)
            except OwnerReplaced:
                self._tally[Happening.REPLACED] += 1
                raise

        self._transaction(register)

    def hold_writing(self, id_: str, holder: str, seconds: float, bucket: int = 0) -> TakenBucket:
        return self._transaction(lambda: self._rules.hold_writing(id_, holder, seconds, bucket))

    def release_writing(self, id_: str) -> None:
        self._transaction(lambda: self._rules.release_writing(id_))

    def writing_holders(self) -> list[str]:
        return self._transaction(self._rules.writing_holders)

    def _transaction(self, commit: Callable[[], Answer]) -> Answer:
        self._stage.step()
        self._be_away()
        if self._stage.random.random() < self._cluster.weather.unknown:
            self._leave_unknown(commit)
            raise MgmtUnavailable("the model does not tell whether this was committed")
        answer = commit()
        self._stage.step()
        return answer

    def _be_away(self) -> None:
        random, weather = self._stage.random, self._cluster.weather
        if not self.is_away and random.random() < weather.away:
            self._away_until = self._stage.now + random.randrange(1, weather.lateness)
            self._tally[Happening.AWAY] += 1
        if self.is_away:
            raise MgmtUnavailable("the model's server is away")

    def _leave_unknown(self, commit: Callable[[], object]) -> None:
        def happen() -> None:
            with suppress(WeftError):  # one that is refused, and nobody hears of it
                commit()

        self._tally[Happening.UNKNOWN_COMMIT] += 1
        fate = self._stage.random.randrange(3)
        if fate == 0:
            happen()
        elif fate == 1:
            self._tally[Happening.LATE_COMMIT] += 1
            self._stage.later(self._stage.random.randrange(1, _LATEST_COMMIT), happen)

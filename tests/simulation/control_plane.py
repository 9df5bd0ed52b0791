"""The control plane's rules behind a server that may not answer.

Each call is a transaction of its own. A COMMIT without an answer has happened, has not, or happens a little later. What
was registered is also kept beside it: that is what the index must hold.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from simulation.baton import Stage
from simulation.cluster import ModelCluster
from simulation.tally import Happening, Tally
from weft.clock import ManualClock
from weft.errors import MgmtError, MgmtUnavailable, OwnerReplaced
from weft.mgmt.memory.mgmt import MemoryMgmt
from weft.mgmt.values import TakenBucket
from weft.store.cassandra.registry import decode_batch
from weft.store.memory import MemoryStore

Answer = TypeVar("Answer")


class Rules(MemoryMgmt):
    """The real rules; `truth` holds every batch that was ever registered, applied in the order of seqs."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.truth = MemoryStore()
        self.epoch = 0

    def take_bucket(self, bucket: int = 0) -> TakenBucket:
        taken = super().take_bucket(bucket)
        self.epoch = taken.epoch
        return taken

    def register_batch(self, epoch: int, before: int, seq: int, batch: bytes, bucket: int = 0) -> None:
        super().register_batch(epoch, before, seq, batch, bucket)
        if seq > self.truth.last_seq:
            self.truth.write(decode_batch(batch, "model"), seq)


class ModelMgmt:
    """The calls of an owner, as it makes them over a network."""

    def __init__(self, stage: Stage, rules: Rules, cluster: ModelCluster, tally: Tally) -> None:
        self._stage, self._rules, self._cluster, self._tally = stage, rules, cluster, tally
        self._away_until = 0

    def take_bucket(self, bucket: int = 0) -> TakenBucket:
        def take() -> TakenBucket:
            taken = self._rules.take_bucket(bucket)
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
        if self._stage.now >= self._away_until and random.random() < weather.away:
            self._away_until = self._stage.now + random.randrange(1, weather.lateness)
            self._tally[Happening.AWAY] += 1
        if self._stage.now < self._away_until and weather.away:
            raise MgmtUnavailable("the model's server is away")

    def _leave_unknown(self, commit: Callable[[], object]) -> None:
        def happen() -> None:
            try:
                commit()
            except MgmtError:
                pass

        self._tally[Happening.UNKNOWN_COMMIT] += 1
        fate = self._stage.random.randrange(3)
        if fate == 0:
            happen()
        elif fate == 1:
            self._tally[Happening.LATE_COMMIT] += 1
            self._stage.later(self._stage.random.randrange(1, 60), happen)


class Waiting(Event):
    """Waits by letting others run: no real time passes."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def wait(self, timeout: float | None = None) -> bool:
        self._stage.step()
        return self.is_set()

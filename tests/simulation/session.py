"""A session on the modelled cluster: what is not answered is repeated, as the real one does, until it gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from threading import Event
from typing import Final

from simulation.baton import Stage
from simulation.cluster import ModelCluster
from simulation.cql import mutation_of
from simulation.replica import Mutation
from simulation.tally import Happening, Tally
from simulation.weather import UNDER_WAY
from weft.errors import StoreError
from weft.store.cassandra.address import ClusterAddress
from weft.store.cassandra.cell_session import Request, Row

ADDRESS: Final = ClusterAddress(("model",), 9042, "model")


class ModelSession:
    """A CellSession of one process. `in_flight`: how many groups are under way at a time."""

    repeats = True
    """Whether what was not acknowledged is sent again."""

    def __init__(self, stage: Stage, cluster: ModelCluster, tally: Tally, in_flight: int = 4) -> None:
        self.address, self.name, self.give_up = ADDRESS, str(ADDRESS), Event()
        self.waits_for = ""
        self.is_writing = False
        self.is_replaced: Callable[[], bool] = lambda: False
        """Tells whether another process owns the index by now; only for the tally."""
        self._stage, self._cluster, self._tally, self._in_flight = stage, cluster, tally, in_flight
        self._flight: list[tuple[int, Mutation]] = []
        """Handed over at that step, and not answered yet."""
        self._unanswered: list[Mutation] = []

    @property
    def _random(self) -> Random:
        return self._stage.random

    def write(self, groups: Iterable[Sequence[Request]], may_send: Callable[[], None] = lambda: None) -> None:
        waiting = [mutation_of(group, self._stage.now) for group in ordered(groups)]
        self.is_writing = True
        try:
            while waiting := self._sent(waiting, may_send):
                if not self.repeats:
                    break
                if self._random.random() < self._cluster.weather.give_up:
                    self._tally[Happening.GIVEN_UP] += 1
                    raise StoreError(self.name, "the cluster does not answer: the model gave up")
        finally:
            self.is_writing = False
            self.leave_adrift()
            self._unanswered.clear()

    def _sent(self, waiting: list[Mutation], may_send: Callable[[], None]) -> list[Mutation]:
        """Send all, some of them side by side; returns those that were not acknowledged."""
        failed = list[Mutation]()
        for mutation in [*waiting, None]:
            if mutation is not None:
                may_send()
                self._flight.append((self._stage.now, mutation))
            while self._flight and (len(self._flight) == self._in_flight or mutation is None):
                self._step()
                failed += self._unanswered
                self._unanswered.clear()
                if self._flight:
                    sent_at, arrived = self._flight.pop(self._random.randrange(len(self._flight)))
                    self._tally[Happening.ZOMBIE_WRITE] += self.is_replaced()
                    if self._is_lost(sent_at) or not self._cluster.write(arrived):
                        failed.append(arrived)
        return failed

    def _is_lost(self, sent_at: int) -> bool:
        """Nothing is under way for long, whatever its sender waits for meanwhile."""
        return self._stage.now - sent_at > UNDER_WAY

    def _step(self) -> None:
        self._stage.step()

    def leave_adrift(self) -> None:
        """Its process was stopped or ended: what it has handed over arrives without it, and it hears of no answer."""
        for sent_at, mutation in self._flight:
            if not self._is_lost(sent_at):
                self._cluster.leave_adrift(mutation)
            self._unanswered.append(mutation)
        self._flight.clear()

    def read(self, requests: Sequence[Request]) -> list[list[Row]]:
        self._stage.step()
        # One draw for all: requests that come from a set have another order in every process.
        draw = self._random.randrange(3)
        return [self._cluster.rows(request, draw) for request in requests]

    def pages(self, request: Request) -> Iterator[list[Row]]:
        self._stage.step()
        rows = self._cluster.rows(request, self._random.randrange(3))
        size = request.page_size or len(rows) or 1
        return (rows[first : first + size] for first in range(0, max(1, len(rows)), size))

    def close(self) -> None:
        """Nothing to do: there is no connection."""


def ordered(groups: Iterable[Sequence[Request]]) -> list[Sequence[Request]]:
    """In an order that does not depend on the process: groups may be sent in any."""
    return sorted(groups, key=lambda group: repr(sorted(map(repr, group))))

"""Three replicas behind quorums: writes reach some of them late or never, reads merge two and repair them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any, Final
from zlib import crc32

from simulation.cql import Query, answered, chooser, partition_of, query_of, token_of
from simulation.replica import NOTHING, Clustering, Mutation, Partition, Replica, StoredRow
from simulation.tally import Happening, Tally
from simulation.weather import CALM
from weft.store.cassandra.cell_session import Request, Row

_REPLICAS: Final = 3
_QUORUM: Final = 2
_WHOLE_RING: Final = (-(1 << 63), (1 << 63) - 1)

Later = Callable[[int, Callable[[], None]], None]
"""Has something happen after so many steps."""


class ModelCluster:
    def __init__(self, random: Random, tally: Tally, later: Later) -> None:
        self.replicas = [Replica() for _ in range(_REPLICAS)]
        self.weather = CALM
        self.read_from = _QUORUM
        self.epoch = 0
        """Of the owner; only for the tally."""
        self._random, self._tally, self._later = random, tally, later
        self._written: set[Partition] = set()

    # Writing

    def write(self, mutation: Mutation) -> bool:
        """Whether a quorum has it. If not, or not yet, replicas may get it later all the same."""
        self._written |= mutation.parts.keys()
        reached = 0
        for replica in self.replicas:
            fate = self._random.random() if self.weather.late or self.weather.lost else 1.0
            if fate < self.weather.late:
                self._send_late(replica, mutation)
            elif fate < self.weather.late + self.weather.lost:
                self._tally[Happening.LOST_WRITE] += 1
            else:
                replica.take(mutation)
                reached += 1
        if reached < _QUORUM:
            self._tally[Happening.TIMEOUT] += 1
        return reached >= _QUORUM

    def leave_adrift(self, mutation: Mutation) -> None:
        """A request whose sender is gone: each replica may get it, now or later."""
        self._written |= mutation.parts.keys()
        for replica in self.replicas:
            if self._random.random() < 0.6:
                self._send_late(replica, mutation)

    def _send_late(self, replica: Replica, mutation: Mutation) -> None:
        sent_in = self.epoch

        def arrive() -> None:
            self._tally[Happening.LATE_WRITE] += 1
            self._tally[Happening.LATE_AFTER_TAKEOVER] += self.epoch > sent_in
            replica.take(mutation)

        self._later(self._random.randrange(1, self.weather.lateness), arrive)

    # Reading

    def rows(self, request: Request, draw: int = 0) -> list[Row]:
        """All rows that are asked for, in order; `draw` decides which replicas answer."""
        query = query_of(request.statement)
        is_whole = query.is_of_ring or not query.conditions
        found = self._of_ring(query, request.values, draw) if is_whole else self._chosen(query, request.values, draw)
        return list(islice(found, query.limit))

    def _chosen(self, query: Query, values: tuple[Any, ...], draw: int) -> Iterator[Row]:
        partition = partition_of(query, values)
        if partition not in self._written:
            return
        yield from self._answered(query, partition, chooser(query, values), draw)

    def _answered(
        self, query: Query, partition: Partition, wants: Callable[[Clustering], bool], draw: int
    ) -> Iterator[Row]:
        """Rows of one partition; of those with the same column that is grouped by, the first."""
        last: object = None
        for clustering, row in self._read(query, partition, wants, draw):
            if query.group_by:
                group = clustering[: query.keys.clustering.index(query.group_by) + 1]
                if group == last:
                    continue
                last = group
            yield answered(query, partition, clustering, row)

    def _of_ring(self, query: Query, values: tuple[Any, ...], draw: int) -> Iterator[Row]:
        above, end = values or _WHOLE_RING
        for partition in self._partitions(query):
            if above < token_of(partition) <= end:
                yield from self._answered(query, partition, lambda _: True, draw)

    def _partitions(self, query: Query) -> list[Partition]:
        return sorted({each for replica in self.replicas for each in replica.partitions if each[0] == query.table})

    def _read(
        self, query: Query, partition: Partition, wants: Callable[[Clustering], bool], draw: int
    ) -> list[tuple[Clustering, StoredRow]]:
        """Live rows in order, as a quorum has them."""
        asked = self._asked(partition, draw)
        stored = {clustering for replica in asked for clustering in replica.rows(partition)}
        named = [clustering for clustering in stored if wants(clustering)]
        if not named:
            return []
        ordered = sorted(named, key=query.keys.place, reverse=query.is_backwards)
        merged = [(clustering, self._merged(asked, partition, clustering)) for clustering in ordered]
        return [(clustering, row) for clustering, row in merged if row.cells]

    def _asked(self, partition: Partition, draw: int) -> list[Replica]:
        first = draw + crc32(repr(partition[1]).encode())
        return [self.replicas[(first + number) % _REPLICAS] for number in range(self.read_from)]

    def _merged(self, asked: list[Replica], partition: Partition, clustering: Clustering) -> StoredRow:
        found = [replica.rows(partition).get(clustering, NOTHING) for replica in asked]
        if all(row == found[0] for row in found):
            return found[0]
        merged = found[0]
        for row in found[1:]:
            merged = merged.merged(row)
        for replica in asked:
            replica.take(Mutation({partition: {clustering: merged}}))
        self._tally[Happening.READ_REPAIR] += 1
        return merged

    # Upkeep

    def repair(self) -> None:
        """Bring all replicas to the same state, as a repair of the whole cluster does."""
        first, *others = self.replicas
        for one, other in [*((first, other) for other in others), *((other, first) for other in others)]:
            for partition, rows in other.partitions.items():
                one.take(Mutation({partition: rows}))

    def purge(self, now: int) -> None:
        """Repair, then forget the deletes that are older than gc_grace, as compactions do on most replicas."""
        if self.weather.gc_grace is None:
            return
        self.repair()
        for replica in self.replicas:
            if self._random.random() < 0.8:
                self._tally[Happening.PURGE] += replica.purge(now - self.weather.gc_grace)

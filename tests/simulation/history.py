"""One history from its seed to the verdict."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from unittest import mock

from simulation.baton import Stage, StuckError
from simulation.cluster import ModelCluster
from simulation.control_plane import ModelMgmt, Rules
from simulation.faults import Faults
from simulation.holder import Holder, holds_on
from simulation.owner import Owner
from simulation.session import ModelSession
from simulation.tally import Happening, Tally
from simulation.watched_store import WatchedStore, WrongReadError
from simulation.weather import ASK_AGAIN, CALM, Weather, weather_of
from simulation.workload import Input, apply_inputs, inputs_of, new_index
from weft.errors import WeftError
from weft.linkindex.digest import digest
from weft.linkindex.verify import verify
from weft.store.api import Cell, Reader
from weft.store.cassandra import bands, permission, placement, rank_reading
from weft.store.cassandra.placement import is_remembered
from weft.store.cassandra.view import SEQ_COLUMN
from weft.store.memory import MemoryStore
from weft.store.tables import Table

_COUNTED = (b"index", b"setting", b"count")
"""An owner whose first batch failed writes this note once more."""
_SIZE = (b"history", b"bytes", b"")
"""Where the engine drops history by itself, nobody counts it."""
_WALKED = 8
"""Of so many histories one is also verified and digested through the view: it has the same cells, by other reads."""
_BITS = 2
"""Of a count, those that name its band: few enough that counts of small webs move within their bands."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong at the end of a history; nothing, if all is well."""

    seed: int
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Parts:
    """What a history is played with; tests that take a rule away replace some of it."""

    owner_class: type[Owner] = Owner
    holder_class: type[Holder] = Holder
    rules_class: type[Rules] = Rules
    session_class: type[ModelSession] = ModelSession
    read_from: int = 2
    holders: tuple[int, ...] = (0, 0, 1, 2)
    """How many there may be."""
    gc_grace: int | None = None
    """None: as the weather has it."""


class History:
    def __init__(self, seed: int, tally: Tally, parts: Parts | None = None) -> None:
        self.seed, self.tally, self.parts = seed, tally, parts or Parts()
        self.random = Random(seed)
        self.stage = Stage(self.random)
        self.cluster = ModelCluster(self.random, tally, self.stage.later)
        self.cluster.read_from = self.parts.read_from
        self.rules = self.parts.rules_class(self.stage)
        self.mgmt = ModelMgmt(self.stage, self.rules, self.cluster, tally)
        self.inputs = inputs_of(self.random)
        self._owners = 0

    def play(self) -> Verdict:
        weather = weather_of(self.random)
        if self.parts.gc_grace is not None:
            weather = replace(weather, gc_grace=self.parts.gc_grace)
        with small_bands(), short_permission(), holds_on(self.stage):
            try:
                last = self._play(weather)
                problems = tuple(self._judge(last))
            except (WrongReadError, StuckError, WeftError, ValueError, LookupError) as error:
                problems = (f"{type(error).__name__}: {str(error)[:500]}",)
        self.tally[Happening.HISTORY] += 1
        self.tally[Happening.STEP] += self.stage.now
        return Verdict(self.seed, problems)

    def _play(self, weather: Weather) -> WatchedStore:
        """Returns the store of the last owner."""
        self.cluster.weather = weather
        faults = Faults(self.stage, self.cluster, self.mgmt, weather, self.tally, self.new_owner)
        self.stage.between = faults.happen
        faults.start_owner()
        for _ in range(self.random.choice(self.parts.holders)):
            holder = self.parts.holder_class(self.stage, self.mgmt, self.rules, self.new_session(), self.tally)
            faults.start_holder(holder, self.random.randrange(300))
        self.stage.play()
        # Whatever is still under way may arrive before the last owner opens, while it works, and after it.
        self.cluster.weather = CALM
        self.stage.between = lambda: None
        last = self.new_owner(is_last=True)
        self.stage.enter("last owner", last.live, self.random.choice((0, 100)))
        self.stage.play()
        self.stage.settle()
        assert last.store is not None
        return last.store

    def new_session(self) -> ModelSession:
        return self.parts.session_class(self.stage, self.cluster, self.tally)

    def new_owner(self, *, is_last: bool = False) -> Owner:
        self._owners += 1
        owner = self.parts.owner_class(
            self.stage, self.mgmt, self.rules, self.new_session(), self.inputs, self.tally, f"owner {self._owners}"
        )
        owner.is_last = is_last
        return owner

    def _judge(self, held: WatchedStore) -> Iterator[str]:
        self.cluster.read_from = Parts.read_from
        wanted = _twin(held, self.inputs)
        for table in Table:
            yield from _differences(table, list(held.scan_rows(table)), list(wanted.scan_rows(table)))
        if self.seed % _WALKED:
            return
        if digest(held) != digest(wanted):
            yield "the digests differ"
        with tempfile.TemporaryDirectory() as directory:
            found = verify(held, "all", Path(directory))
        if found.differences:
            yield f"verify: {found.examples[0]}"


def _twin(held: Reader, inputs: list[Input]) -> MemoryStore:
    """The same inputs in the same rounds, in a store without faults."""
    by_seq: defaultdict[int, list[Input]] = defaultdict(list)
    seqs = {int.from_bytes(cell.qualifier, "big"): cell.seq for cell in held.scan(Table.META, b"chunk")}
    for each in inputs:
        by_seq[seqs.get(each.id, 1 << 60)].append(each)
    store = MemoryStore()
    index = new_index(store)
    for _, together in sorted(by_seq.items()):
        apply_inputs(index, store, together)
    return store


def _differences(table: Table, held: list[Cell], wanted: list[Cell]) -> Iterator[str]:
    if table is Table.META:
        held = [cell for cell in held if cell[:3] != SEQ_COLUMN]
    of_held = {cell[:3]: cell for cell in held}
    of_wanted = {cell[:3]: cell for cell in wanted}
    if len(of_held) < len(held):
        yield f"{table.label}: cells twice"
    for column in sorted(of_held.keys() | of_wanted.keys()):
        is_there, should_be = of_held.get(column), of_wanted.get(column)
        if column == _SIZE:
            continue
        if (is_there and is_there.value) != (should_be and should_be.value):
            yield f"{table.label} {column}: is {is_there}, should be {should_be}"
        elif is_there != should_be and column != _COUNTED and not is_remembered(table, column[0]):
            yield f"seq of {table.label} {column}: is {is_there.seq}, should be {should_be.seq}"


@contextmanager
def small_bands() -> Iterator[None]:
    with (
        mock.patch.object(bands, "_BITS", _BITS),
        mock.patch.object(bands, "SINGLE", 1 << _BITS),
        mock.patch.object(rank_reading, "SINGLE", 1 << _BITS),
        mock.patch.object(placement, "HEAD", 1 << _BITS),
        mock.patch.object(rank_reading, "HEAD", 1 << _BITS),
    ):
        yield


def short_permission() -> AbstractContextManager[object]:
    return mock.patch.object(permission, "ASK_AGAIN", ASK_AGAIN)

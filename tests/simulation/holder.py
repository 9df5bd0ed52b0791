"""A command that needs the index to hold still, such as `weft verify`: what it reads must be whole and not move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from unittest import mock

from simulation.baton import Stage, StageClock, StageEvent, StageThread
from simulation.control_plane import ModelMgmt, Rules
from simulation.session import ModelSession
from simulation.tally import Happening, Tally
from simulation.watched_store import KEYSPACE, LIFETIME, compare
from weft.errors import MgmtUnavailable, StoreError
from weft.roles import writing_hold
from weft.roles.writing_hold import WritingHold
from weft.store.api import Column
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.view import SEQ_COLUMN
from weft.store.tables import Table

_LOOKED_UP: Final = (Table.FLUO, Table.DOCS, Table.LINKS)
_WALKED: Final = (Table.META, Table.DOMAINS)


class Holder:
    """`store_class` and `seconds` are for tests that take a rule away."""

    store_class: type[RegisteredStore] = RegisteredStore
    seconds = 120.0

    def __init__(self, stage: Stage, mgmt: ModelMgmt, rules: Rules, session: ModelSession, tally: Tally) -> None:
        self._stage, self._mgmt, self._rules, self._tally = stage, mgmt, rules, tally
        self.session = session

    def live(self) -> None:
        try:
            with WritingHold(self._mgmt, "a holder", self.seconds) as hold:
                store = self.store_class(self.session, KEYSPACE, LIFETIME, StageClock(self._stage))
                is_behind = store.complete_to() < hold.last.seq
                store.complete(hold.last, hold.check)
                self._read(store, hold)
        except StoreError:
            self._tally[Happening.HOLD_LOST] += 1
        except MgmtUnavailable:
            pass
        else:
            self._tally[Happening.HOLD] += 1
            self._tally[Happening.HOLD_COMPLETED] += is_behind

    def _read(self, store: RegisteredStore, hold: WritingHold) -> None:
        truth = self._rules.truth
        columns = {table: [Column(*cell[:3]) for cell in truth.scan_rows(table)] for table in _LOOKED_UP}
        looked_up = {table: store.get(table, names) for table, names in columns.items()}
        walked = {table: list(store.scan_rows(table)) for table in _WALKED}
        hold.check()
        for table, cells in looked_up.items():
            compare(cells, truth.get(table, columns[table]))
        for table, found in walked.items():
            compare([cell for cell in found if cell[:3] != SEQ_COLUMN], list(truth.scan_rows(table)))


@contextmanager
def holds_on(stage: Stage) -> Iterator[None]:
    """WritingHold with the stage's time and threads."""

    def thread(*, target: Any, name: str, daemon: bool) -> StageThread:
        assert daemon, "it must not outlive its process"
        return StageThread(stage, target, name)

    with (
        mock.patch.object(writing_hold, "Thread", thread),
        mock.patch.object(writing_hold, "Event", partial(StageEvent, stage)),
        mock.patch.object(writing_hold, "MonotonicClock", partial(StageClock, stage)),
    ):
        yield

"""A command that needs the index to hold still, such as `weft verify`: what it reads must be whole and not move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

from simulation.baton import Stage, StageClock, StageEvent, StageThread
from simulation.control_plane import ModelMgmt, Rules
from simulation.session import ModelSession
from simulation.tally import Happening, Tally
from simulation.watched_store import KEYSPACE, LIFETIMES, compare
from weft.errors import MgmtUnavailable, StoreError
from weft.roles import writing_hold
from weft.roles.writing_hold import WritingHold
from weft.store.api import Cell
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.view import SEQ_COLUMN
from weft.store.tables import Table

_SECONDS: Final = 60.0
_READ: Final = ((Table.FLUO, b"um:"), (Table.QUERY, b"t:"), (Table.META, b""), (Table.DOMAINS, b"p:"))


class Holder:
    store_class: type[RegisteredStore] = RegisteredStore

    def __init__(self, stage: Stage, mgmt: ModelMgmt, rules: Rules, session: ModelSession, tally: Tally) -> None:
        self._stage, self._mgmt, self._rules, self._tally = stage, mgmt, rules, tally
        self.session = session

    def live(self) -> None:
        try:
            with WritingHold(self._mgmt, "a holder", _SECONDS) as hold:
                store = self.store_class(self.session, KEYSPACE, LIFETIMES)
                is_behind = store.complete_to() < hold.last.seq
                store.complete(hold.last)
                found = [list(store.scan_rows(table, prefix)) for table, prefix in _READ]
                hold.check()
                self._compare(found)
        except StoreError:
            self._tally[Happening.HOLD_LOST] += 1
        except MgmtUnavailable:
            pass
        else:
            self._tally[Happening.HOLD] += 1
            self._tally[Happening.HOLD_COMPLETED] += is_behind

    def _compare(self, found: list[list[Cell]]) -> None:
        for cells, (table, prefix) in zip(found, _READ, strict=True):
            registered = list(self._rules.truth.scan_rows(table, prefix))
            compare([cell for cell in cells if cell[:3] != SEQ_COLUMN], registered)


@contextmanager
def holds_on(stage: Stage) -> Iterator[None]:
    """WritingHold with the stage's time and threads."""

    def thread(*, target: Any, name: str, daemon: bool) -> StageThread:
        assert daemon, "it must not outlive its process"
        return StageThread(stage, target, name)

    with (
        mock.patch.object(writing_hold, "Thread", thread),
        mock.patch.object(writing_hold, "Event", lambda: StageEvent(stage)),
        mock.patch.object(writing_hold, "MonotonicClock", lambda: StageClock(stage)),
    ):
        yield

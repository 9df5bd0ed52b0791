"""Random sequences of all calls: what must hold holds after each, and the database answers as the memory twin does."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from support.mgmt_audit import audit
from support.mgmt_machine import Machine
from weft.clock import ManualClock
from weft.mgmt.api import Mgmt
from weft.mgmt.sqlite import SqliteMgmt


class SqliteMachine(Machine):
    def others(self, clock: ManualClock) -> list[Mgmt]:
        self.directory = tempfile.TemporaryDirectory(prefix="weft-mgmt-")
        self.sqlite = SqliteMgmt(Path(self.directory.name) / "mgmt.db", clock)
        return [self.sqlite]

    @invariant()
    def the_database_is_consistent(self) -> None:
        audit(self.sqlite)

    def teardown(self) -> None:
        if hasattr(self, "sqlite"):
            self.sqlite.close()
            self.directory.cleanup()


def test_the_rules_hold_after_every_call() -> None:
    run_state_machine_as_test(Machine, settings=settings(stateful_step_count=60))


def test_sqlite_answers_as_the_memory_twin_does() -> None:
    most = max(20, settings().max_examples // 3)
    run_state_machine_as_test(SqliteMachine, settings=settings(stateful_step_count=40, max_examples=most))

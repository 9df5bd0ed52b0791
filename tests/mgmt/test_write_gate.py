"""Who waited too long writes next: others wait at the gate, until it opens or its holder dies."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from weft.clock import ManualClock
from weft.mgmt.sql.sqlite_database import SqliteDatabase
from weft.mgmt.sql.write_gate import WriteGate

HOLDER = """
import sys, time
from pathlib import Path
from weft.mgmt.sql.write_gate import WriteGate
with WriteGate(Path(sys.argv[1])).alone():
    print("closed", flush=True)
    time.sleep(600)
"""


def test_a_closed_gate_lets_nobody_pass_until_its_holder_is_dead(tmp_path: Path) -> None:
    gate = tmp_path / "turn"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(gate)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"closed\n"
        passing = threading.Thread(target=WriteGate(gate).pass_gate)
        passing.start()
        passing.join(0.3)
        assert passing.is_alive()
        holder.kill()
        passing.join(60)
        assert not passing.is_alive()


def test_a_writer_that_is_not_let_in_closes_the_gate_and_gets_its_turn(tmp_path: Path) -> None:
    one, other = (SqliteDatabase(tmp_path / "mgmt.db", ManualClock(1)) for _ in range(2))
    is_inside, may_end = threading.Event(), threading.Event()

    def take_long(_: object) -> None:
        is_inside.set()
        may_end.wait(60)

    slow = threading.Thread(target=one.write, args=(take_long,))
    slow.start()
    assert is_inside.wait(60)
    found: list[int] = []
    waiting = threading.Thread(target=lambda: found.append(other.write(lambda _: 7)))
    waiting.start()
    gate, has_passed = WriteGate(tmp_path / "mgmt.db-turn"), threading.Event()
    while True:
        # Until it has waited for long enough to close the gate.
        passing = threading.Thread(target=lambda: (gate.pass_gate(), has_passed.set()), daemon=True)  # type: ignore[func-returns-value]
        has_passed.clear()
        passing.start()
        if not has_passed.wait(0.5):
            break
    may_end.set()
    for thread in (slow, waiting, passing):
        thread.join(60)
    assert found == [7]
    assert has_passed.is_set()
    one.close()
    other.close()

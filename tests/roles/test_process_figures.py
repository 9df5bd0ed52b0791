"""What a process tells of its memory, its CPU time and its files."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.roles.process_figures import ProcessFigures

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is told on Linux")
WORK = "sum(range(3_000_000)); held = bytearray(50 << 20); print('ready', flush=True); input()"


def test_workers_count_while_they_run_and_their_time_stays() -> None:
    figures = ProcessFigures()
    before = figures.facts()
    with subprocess.Popen([sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        worker.stdout.readline()
        during = figures.facts()
        worker.communicate(b"\n")
    after = figures.facts()
    assert during["memory"] > before["memory"] + (40 << 20)
    assert after["memory"] < during["memory"]
    assert before["cpu"] < during["cpu"] <= after["cpu"]


def test_cpu_time_never_falls() -> None:
    figures = ProcessFigures()
    figures._cpu = 1e9
    assert figures.facts()["cpu"] == 1e9


def test_it_tells_when_it_started_and_how_many_files_it_has() -> None:
    facts = ProcessFigures().facts()
    with Path("/dev/null").open():
        more = ProcessFigures().facts()
    assert more["files"] == facts["files"] + 1 <= more["files_most"]
    assert abs(facts["started"] - time.time()) < 60

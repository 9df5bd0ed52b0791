"""Whatever is killed, stopped, late or unknown: every batch is in whole, and every input once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.playing import play_all, told
from simulation.tally import Happening, Tally

TESTS = Path(__file__).parents[1]


def prove(seeds: range) -> None:
    tally = Tally()
    wrong = play_all(seeds, tally)
    print(told(tally))
    assert wrong == []
    assert [each for each in Happening if not tally[each]] == []


def test_every_history_ends_with_exactly_the_cells_that_its_inputs_call_for() -> None:
    prove(range(150))


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 21_000, 1_000))
def test_twenty_thousand_histories_do(first: int) -> None:
    prove(range(first, first + 1_000))


def test_a_seed_gives_the_same_history_in_every_process() -> None:
    program = "from simulation.playing import *; tally = Tally(); print(play_all(range(5), tally)); print(told(tally))"
    search = os.pathsep.join((str(TESTS), str(TESTS.parent / "src")))
    ran = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": search, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    ]
    assert ran[0] == ran[1] != b""

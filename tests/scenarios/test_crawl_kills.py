"""Roles and supervisors of a crawl killed at random: nothing lost, nothing wrong, and nobody asked too often."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from support.whole_crawl import (
    PLAN,
    SETS,
    check_against_the_truth,
    check_manners,
    check_proof,
    crawl,
    logs,
    role_processes,
    served_for,
)
from weft.demo.web.server.serving import Served
from weft.roles.status_file import last_status

SUPERVISOR = "supervisor"
ROLES = ("urlserver", "spider", "index", "indexserver")
# Slow enough that it is not over before the last kill.
SLOW = ["--set", "urlserver.req_host_per_sec=1.0"]
PATIENCE = 400.0


class Killer:
    """Kills processes of a crawl, mostly such that did something: else nobody would ever get far between two kills."""

    def __init__(self, served: Served, place: Path, kills: dict[str, int], dice: random.Random) -> None:
        self._served, self._place, self._dice = served, place, dice
        self.wanted = Counter(kills)
        self._requests = dict.fromkeys(kills, 0)

    def kill_one(self, supervisor: int) -> None:
        running = {**role_processes(self._place), SUPERVISOR: supervisor}
        alive = {name: pid for name, pid in running.items() if self.wanted[name] > 0}
        name = self._dice.choice(sorted(alive)) if alive else ""
        if name and (self._has_worked(name, alive[name]) or self._dice.random() < 0.03):
            os.kill(alive[name], signal.SIGKILL)
            self.wanted[name] -= 1
            self._requests[name] = self._served.count()

    def _has_worked(self, name: str, pid: int) -> bool:
        if name == "index":
            facts = last_status(self._place / "home", name) or {}
            return facts.get("pid") == pid and facts.get("results", 0) > 0
        return self._served.count() > self._requests[name]


class Crawl:
    """`weft crawl`, begun again as a user does after it was killed."""

    def __init__(self, served: Served, place: Path) -> None:
        words = ["crawl", served.url(0), "--scope", "any", "--home", str(place / "home"), *SETS, *SLOW]
        self._command, self._place = [sys.executable, "-m", "weft", *words], place
        self.process = self._begin()

    def _begin(self) -> subprocess.Popen[bytes]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        with (self._place / "crawl.out").open("ab") as output:
            return subprocess.Popen(self._command, env=clean, stdout=output, stderr=output)

    def is_over(self) -> bool:
        """Whether it ended by itself. One that was killed, or met the roles of a killed one, is begun again."""
        code = self.process.poll()
        if code is None:
            return False
        if code not in (-signal.SIGKILL, 2):
            return True
        self.process = self._begin()
        return False

    def end(self) -> None:
        """Kill all of it at once."""
        self.process.kill()
        self.process.wait()
        for pid in role_processes(self._place).values():
            os.kill(pid, signal.SIGKILL)


def kill_during_crawl(served: Served, place: Path, kills: dict[str, int], dice: random.Random) -> Counter[str]:
    """Each process so often, in any order, and in the end all at once. Returns the kills that did not happen."""
    crawling, killer = Crawl(served, place), Killer(served, place, kills, dice)
    end = time.monotonic() + PATIENCE
    try:
        while +killer.wanted and not crawling.is_over() and time.monotonic() < end:
            time.sleep(dice.uniform(0.05, 0.5))
            killer.kill_one(crawling.process.pid)
    finally:
        crawling.end()
    return +killer.wanted


def survive(place: Path, kills: dict[str, int], seed: int) -> None:
    with served_for(place, replace(PLAN, pages=14)) as served:
        left = kill_during_crawl(served, place, kills, random.Random(seed))
        assert not left, (place / "crawl.out").read_text() + logs(place)
        crawl(place, "--scope", "any")
        check_against_the_truth(served, place)
        # Each kill may cost a second request of what was in flight: at most one page of each host.
        check_manners(served, place, allowed_refetches=(sum(kills.values()) + 1) * PLAN.hosts)
        check_proof(place)


def test_ten_kills_lose_nothing_and_stay_polite(tmp_path: Path) -> None:
    survive(tmp_path, dict.fromkeys([*ROLES, SUPERVISOR], 2), seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 27))
def test_a_thousand_kills_lose_nothing_and_stay_polite(tmp_path: Path, seed: int) -> None:
    survive(tmp_path, dict.fromkeys([*ROLES, SUPERVISOR], 8), seed=seed)

"""Roles of a crawl killed at random: nothing is lost, nothing is wrong, and nobody is asked too often."""

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

ROLES = ("urlserver", "spider", "index")
# Slow enough that it is not over before the last kill.
SLOW = ["--set", "urlserver.req_host_per_sec=1.0"]
PATIENCE = 240.0


class Killer:
    """Kills roles of a crawl; mostly such that did something: who never gets so far between two kills cannot go on."""

    def __init__(self, served: Served, place: Path, kills: int, dice: random.Random) -> None:
        self._served, self._place, self._kills, self._dice = served, place, kills, dice
        self._requests = dict.fromkeys(ROLES, 0)
        self.killed: Counter[str] = Counter()

    def kill_one(self) -> None:
        alive = {name: pid for name, pid in role_processes(self._place).items() if self.killed[name] < self._kills}
        name = self._dice.choice(sorted(alive)) if alive else ""
        if name and (self._has_worked(name, alive[name]) or self._dice.random() < 0.03):
            os.kill(alive[name], signal.SIGKILL)
            self.killed[name] += 1
            self._requests[name] = self._served.count()

    def _has_worked(self, name: str, pid: int) -> bool:
        if name == "index":
            facts = last_status(self._place / "home", name) or {}
            return facts.get("pid") == pid and facts.get("results", 0) > 0
        return self._served.count() > self._requests[name]


def kill_during_crawl(served: Served, place: Path, kills: int, dice: random.Random) -> Counter[str]:
    """Each role so often, in any order; then the crawl comes to its end."""
    words = ["crawl", served.url(0), "--scope", "any", "--home", str(place / "home"), *SETS, *SLOW]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    with (place / "crawl.out").open("wb") as output:
        running = subprocess.Popen([sys.executable, "-m", "weft", *words], env=clean, stdout=output, stderr=output)
    killer, end = Killer(served, place, kills, dice), time.monotonic() + PATIENCE
    try:
        while running.poll() is None and time.monotonic() < end and killer.killed.total() < kills * len(ROLES):
            time.sleep(dice.uniform(0.05, 0.5))
            killer.kill_one()
        running.wait(PATIENCE)
    finally:
        for pid in role_processes(place).values():
            os.kill(pid, signal.SIGKILL)
        running.kill()
        running.wait()
    return killer.killed


def survive(place: Path, kills: int, seed: int) -> None:
    with served_for(place, replace(PLAN, pages=14)) as served:
        killed = kill_during_crawl(served, place, kills, random.Random(seed))
        assert dict(killed) == dict.fromkeys(ROLES, kills), (place / "crawl.out").read_text() + logs(place)
        crawl(place, "--scope", "any")
        check_against_the_truth(served, place)
        # Each kill may cost a second request of what was in flight: at most one page of each host.
        check_manners(served, place, allowed_refetches=kills * len(ROLES) * PLAN.hosts)
        check_proof(place)


def test_twelve_kills_lose_nothing_and_stay_polite(tmp_path: Path) -> None:
    survive(tmp_path, kills=4, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_hundred_kills_of_each_role_lose_nothing(tmp_path: Path, seed: int) -> None:
    survive(tmp_path, kills=10, seed=seed)

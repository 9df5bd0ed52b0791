"""Roles and supervisors of a crawl killed at random: nothing lost, nothing wrong, and nobody asked too often."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

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
FEW = (1, 4)
"""Links of a page: where each page is linked from many, a lost link is found again and nobody notices."""
LONGEST_START = 1.5
"""Seconds after its beginning in which a process is hit at its start."""


class Blow(NamedTuple):
    """What a process is hit with, one signal soon after the other, and when."""

    moment: str
    """At `work`, at its `start`, or while the whole crawl comes to its `end`."""
    signals: tuple[signal.Signals, ...]


KILL = Blow("work", (signal.SIGKILL,))
STOPS = (
    (signal.SIGTERM,),
    (signal.SIGINT,),
    (signal.SIGTERM, signal.SIGTERM),
    (signal.SIGTERM, signal.SIGKILL),
)
BLOWS = (
    KILL,
    *(Blow(moment, signals) for moment in ("work", "start") for signals in STOPS),
    *(Blow("end", signals) for signals in ((signal.SIGTERM,), (signal.SIGKILL,), (signal.SIGINT, signal.SIGTERM))),
)


class Hitter:
    """Hits processes of a crawl, mostly such that did something: else nobody would ever get far between two blows."""

    def __init__(self, served: Served, place: Path, crawl: Crawl, blows: dict[str, list[Blow]], seed: int) -> None:
        self._served, self._place, self._crawl, self._dice = served, place, crawl, random.Random(seed)
        self.wanted = blows
        self._requests = dict.fromkeys(blows, 0)

    @property
    def left(self) -> dict[str, list[Blow]]:
        return {name: blows for name, blows in self.wanted.items() if blows}

    def hit_one(self) -> None:
        running = {**role_processes(self._place), SUPERVISOR: self._crawl.process.pid}
        alive = {name: pid for name, pid in running.items() if self.wanted.get(name)}
        name = self._dice.choice(sorted(alive)) if alive else ""
        if name and (self._has_worked(name, alive[name]) or self._dice.random() < 0.03):
            blow = self.wanted[name].pop()
            with (self._place / "blows.out").open("a") as told:
                print(f"{name} at {blow.moment}: {', '.join(each.name for each in blow.signals)}", file=told)
            self._hit(name, alive[name], blow)
            self._requests[name] = self._served.count()

    def _hit(self, name: str, pid: int, blow: Blow) -> None:
        if blow.moment == "start":
            self._send(name, pid, signal.SIGKILL)
            pid = self._next_of(name, pid)
            time.sleep(self._dice.uniform(0, LONGEST_START))
        elif blow.moment == "end":
            self._send(SUPERVISOR, self._crawl.process.pid, signal.SIGTERM)
            time.sleep(self._dice.uniform(0, 1.5))
        for number in blow.signals:
            self._send(name, pid, number)
            time.sleep(self._dice.uniform(0, 0.3))

    def _send(self, name: str, pid: int, number: signal.Signals) -> None:
        if name == SUPERVISOR:
            self._crawl.hit(number)
            return
        with suppress(ProcessLookupError):  # it may have ended before
            os.kill(pid, number)

    def _next_of(self, name: str, before: int) -> int:
        """The process that comes after one that was killed."""
        end = time.monotonic() + 60
        while time.monotonic() < end and not self._crawl.is_over():
            now = {**role_processes(self._place), SUPERVISOR: self._crawl.process.pid}.get(name, before)
            if now != before:
                return now
            time.sleep(0.01)
        return before

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
        self._was_hit = False
        self.process = self._begin()

    def _begin(self) -> subprocess.Popen[bytes]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        with (self._place / "crawl.out").open("ab") as output:
            return subprocess.Popen(self._command, env=clean, stdout=output, stderr=output)

    def hit(self, number: signal.Signals) -> None:
        self._was_hit = True
        self.process.send_signal(number)

    def is_over(self) -> bool:
        """Whether it ended by itself. One that was hit, or met the roles of one that was, is begun again."""
        code = self.process.poll()
        if code is None:
            return False
        if not self._was_hit and code != 2:
            return True
        self._was_hit = False
        self.process = self._begin()
        return False

    def end(self) -> None:
        """Kill all of it at once."""
        self.process.kill()
        self.process.wait()
        for pid in role_processes(self._place).values():
            os.kill(pid, signal.SIGKILL)


def hit_during_crawl(served: Served, place: Path, blows: dict[str, list[Blow]], seed: int) -> dict[str, list[Blow]]:
    """Each process so often, in any order, and in the end all are killed at once. Returns what did not happen."""
    crawling = Crawl(served, place)
    hitter, dice = Hitter(served, place, crawling, blows, seed), random.Random(seed)
    end = time.monotonic() + PATIENCE
    try:
        while hitter.left and not crawling.is_over() and time.monotonic() < end:
            time.sleep(dice.uniform(0.05, 0.5))
            hitter.hit_one()
    finally:
        crawling.end()
    return hitter.left


def survive(place: Path, blows: dict[str, list[Blow]], seed: int) -> None:
    number = sum(map(len, blows.values()))
    with served_for(place, replace(PLAN, pages=14, links=FEW)) as served:
        left = hit_during_crawl(served, place, blows, seed)
        said = (place / "crawl.out").read_text()
        assert not left, said + logs(place)
        # Everything is in scope. A link that was refused may be found again on another page, or be lost for good.
        assert not re.findall(r"\d+ out of scope", said)
        crawl(place, "--scope", "any")
        check_against_the_truth(served, place)
        # Each blow may cost a second request of what was in flight: at most one page of each host.
        check_manners(served, place, allowed_refetches=(number + 1) * PLAN.hosts)
        check_proof(place)


def test_ten_kills_lose_nothing_and_stay_polite(tmp_path: Path) -> None:
    survive(tmp_path, {name: [KILL] * 2 for name in (*ROLES, SUPERVISOR)}, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 27))
def test_a_thousand_kills_and_stops_lose_nothing_and_stay_polite(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    survive(tmp_path, {name: [KILL] * 2 + dice.choices(BLOWS, k=6) for name in (*ROLES, SUPERVISOR)}, seed=seed)

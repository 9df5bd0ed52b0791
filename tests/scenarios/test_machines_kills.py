"""Processes and whole machines killed under a crawl: nothing lost, nothing wrong, nobody asked too often."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from support.machines import ROLES, Machines
from support.machines_proof import WEB, check_all, crawling_machines, one_machine
from support.mgmt_engines import Server

MACHINES = [[name for name in ROLES if name.endswith(number)] for number in "123"]
VICTIMS = [*([name] for name in ROLES), *MACHINES]
# Slow enough that it is not over before the last kill.
SLOW = {"urlserver__req_host_per_sec": 3.0}


class Killer:
    """Kills one process, or all of one machine, and starts them again."""

    def __init__(self, machines: Machines, dice: random.Random) -> None:
        self._machines, self._dice = machines, dice
        self.kills = 0
        self.in_flight = 0
        """Pages that may have to be asked for again."""

    def strike(self) -> None:
        victims = self._dice.choice(VICTIMS)
        for name in victims:
            self._machines.kill(name)
        if victims != ["index1"]:
            self.in_flight += self._machines.in_flight()
        time.sleep(self._dice.choice([0.0, 0.2, 0.6]))
        self._machines.start(*victims)
        self.kills += len(victims)


def survive(place: Path, server: Server, kills: int, seed: int) -> None:
    links = one_machine(WEB).links
    with crawling_machines(place, server, **SLOW) as machines:
        machines.start_all()
        killer = Killer(machines, random.Random(seed))
        while killer.kills < kills:
            goal = links * (killer.kills + 1) // (kills + 3)
            machines.wait_for(lambda goal=goal: machines.ended() >= goal, f"{goal} links to end")  # type: ignore[misc]
            killer.strike()
        machines.wait_for_the_end()
        report = check_all(machines, refetches=killer.in_flight)
        print(f"kills={killer.kills} in flight={killer.in_flight} asked again={report.count('refetch')}")


def test_twenty_kills_lose_nothing_and_stay_polite(tmp_path: Path, own_postgres: Server) -> None:
    survive(tmp_path, own_postgres, kills=20, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_three_hundred_kills_lose_nothing_and_stay_polite(tmp_path: Path, own_postgres: Server, seed: int) -> None:
    survive(tmp_path, own_postgres, kills=30, seed=seed)


# By process, in this order: each dies at the point when it passes it for the n-th time, and comes back.
POINTS = {
    "index1": [
        "builder.parsed:2",
        "builder.loaded:2",
        "dispatcher.handed_over:1",
        "dispatcher.written:1",
        "store.write.after:2",
        "mgmt.commit.before:9",
        "mgmt.commit.after:9",
    ],
    "spider2": ["spider.synced:2", "spider.reported:2", "mgmt.commit.before:4", "mgmt.commit.after:4"],
    "urlserver3": ["mgmt.commit.before:9", "mgmt.commit.after:9"],
}


class Doomed:
    """Processes that die at their failpoints, one after the other."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._left = {name: list(points) for name, points in POINTS.items()}
        self.in_flight = 0
        self.died_at: list[str] = []
        self._armed = dict.fromkeys(POINTS, "")
        for name in POINTS:
            self._start(name)

    def revive(self) -> None:
        for name in self._machines.dead():
            code = self._machines.wait_for_death(name)
            assert code == -signal.SIGKILL, f"{name} ended with {code}\n{self._machines.logs()}"
            self.died_at.append(self._armed[name])
            self.in_flight += 0 if name == "index1" else self._machines.in_flight()
            self._start(name)

    def _start(self, name: str) -> None:
        self._armed[name] = self._left[name].pop(0) if self._left[name] else ""
        self._machines.start(name, fail=f"{self._armed[name]}:kill" if self._armed[name] else "")


def test_a_kill_at_every_step_that_must_survive_one_loses_nothing(tmp_path: Path, own_postgres: Server) -> None:
    with crawling_machines(tmp_path, own_postgres, **SLOW) as machines:
        machines.start(*(name for name in ROLES if name not in POINTS))
        doomed = Doomed(machines)
        machines.wait_for_the_end(doomed.revive)
        assert sorted(doomed.died_at) == sorted(point for points in POINTS.values() for point in points)
        check_all(machines, refetches=doomed.in_flight)

"""Index processes of a cluster that die one after the other, at failpoints and at any moment."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterable

from support.cluster_crawl import last_seq
from support.machines import Machines

ANY_MOMENT = "any moment"
_BATCHES = 2
"""How many may be written before that moment."""
STEPS = {
    "store.register.before": 3,
    "store.register.after": 3,
    "store.apply": 25,
    "store.acknowledged": 3,
    "dispatcher.handed_over": 2,
    "dispatcher.written": 2,
    "builder.parsed": 2,
    "builder.loaded": 2,
    "mgmt.commit.before": 9,
    "mgmt.commit.after": 9,
}
"""Every step that must survive a kill, and the last passing at which a kill is tried."""


def deaths(dice: random.Random, number: int) -> list[str]:
    """As many, in any order: every step at least twice, the writing of a batch more often, and any moment."""
    points = [*STEPS, *STEPS, "store.apply", "store.apply", "store.register.after"]
    points += [ANY_MOMENT] * (number - len(points))
    dice.shuffle(points)
    return [point if point == ANY_MOMENT else f"{point}:{dice.randint(1, STEPS[point])}" for point in points]


class DoomedIndex:
    """The one of machine 1; whoever comes next finds what the last one left."""

    def __init__(self, machines: Machines, dice: random.Random) -> None:
        self._machines, self._dice = machines, dice
        self.hits: Counter[str] = Counter()

    def die(self, all_deaths: Iterable[str]) -> None:
        for death in all_deaths:
            if death == ANY_MOMENT:
                self._die_at_any_moment()
            else:
                self._die_at(death)
            self.hits[death.partition(":")[0]] += 1

    def _die_at(self, point: str) -> None:
        self._machines.start("index1", fail=f"{point}:kill")
        code = self._machines.wait_for_death("index1")
        assert code == -signal.SIGKILL, f"it was to die at {point} and ended with {code}\n{self._machines.logs()}"

    def _die_at_any_moment(self) -> None:
        """Soon, so that those who are to die at a step find something to do."""
        goal, until = last_seq(self._machines) + _BATCHES, time.monotonic() + self._dice.uniform(0.2, 4)
        self._machines.start("index1")
        while time.monotonic() < until and last_seq(self._machines) < goal:
            time.sleep(self._dice.uniform(0.01, 0.05))
        assert not self._machines.dead(), self._machines.logs()
        self._machines.kill("index1")

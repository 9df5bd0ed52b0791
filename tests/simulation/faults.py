"""Who is killed, stopped or replaced, and when."""

from __future__ import annotations

from collections.abc import Callable

from simulation.baton import Actor, Stage
from simulation.cluster import ModelCluster
from simulation.owner import Owner
from simulation.tally import Happening, Tally
from simulation.weather import Weather


class Faults:
    def __init__(
        self, stage: Stage, cluster: ModelCluster, weather: Weather, tally: Tally, new_owner: Callable[[], Owner]
    ) -> None:
        self._stage, self._cluster, self._weather, self._tally = stage, cluster, weather, tally
        self._new_owner = new_owner
        self._left = weather.faults
        self._owners: dict[Actor, Owner] = {}
        self._ends: dict[Actor, int] = {}

    def start_owner(self, delay: int = 0) -> None:
        owner = self._new_owner()
        self._owners[self._stage.enter(f"owner {len(self._owners) + 1}", owner.live, delay)] = owner

    def happen(self) -> None:
        """Before every step."""
        random, weather = self._stage.random, self._weather
        self._end_replaced()
        if weather.gc_grace is not None and random.random() < 0.1:
            self._cluster.purge(self._stage.now)
        if not self._left or random.random() >= weather.fault:
            return
        owners = [actor for actor in self._stage.alive if actor.wakes <= self._stage.now]
        if not owners:
            return
        self._left -= 1
        self._strike(owners[random.randrange(len(owners))])

    def _strike(self, actor: Actor) -> None:
        random, in_batch = self._stage.random, self._owners[actor].session.is_writing
        match random.randrange(5):
            case 0 | 1:
                actor.is_killed = True
                self._tally[Happening.KILL] += 1
                self._tally[Happening.KILL_IN_BATCH] += in_batch
            case 2 | 3:
                actor.wakes = self._stage.now + random.randrange(5, self._weather.owner_limit // 2)
                self._tally[Happening.ZOMBIE] += 1
                self._tally[Happening.ZOMBIE_IN_BATCH] += in_batch
            case _:
                """Nothing but another one that thinks it is its turn."""
        for _ in range(random.choice((1, 1, 1, 2))):
            self.start_owner(random.choice((0, 0, 3, 30)))

    def _end_replaced(self) -> None:
        """A process that was replaced stops itself at its deadline."""
        for actor in self._stage.alive:
            owner = self._owners[actor]
            if not owner.is_replaced:
                self._ends.pop(actor, None)
            elif self._stage.now > self._ends.setdefault(actor, self._stage.now + self._weather.owner_limit):
                actor.is_killed = True

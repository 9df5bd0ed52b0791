"""Who is killed, stopped or cut off, and when; and the heartbeats of all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from simulation.baton import Actor, Stage
from simulation.cluster import ModelCluster
from simulation.control_plane import LEASE, ModelMgmt
from simulation.holder import Holder
from simulation.owner import Owner
from simulation.tally import Happening, Tally
from simulation.weather import Weather

_HEARTBEAT: Final = 4


class Faults:
    def __init__(
        self,
        stage: Stage,
        cluster: ModelCluster,
        mgmt: ModelMgmt,
        weather: Weather,
        tally: Tally,
        new_owner: Callable[[], Owner],
    ) -> None:
        self._stage, self._cluster, self._mgmt, self._weather, self._tally = stage, cluster, mgmt, weather, tally
        self._new_owner = new_owner
        self._left = weather.faults
        self._owners: dict[Actor, Owner] = {}
        self._holders: dict[Actor, Holder] = {}
        self._silent_until: dict[Actor, int] = {}

    def start_owner(self, delay: int = 0) -> None:
        owner = self._new_owner()
        self._owners[self._stage.enter(f"owner {len(self._owners)}", owner.live, delay)] = owner

    def start_holder(self, holder: Holder, delay: int) -> None:
        self._holders[self._stage.enter("holder", holder.live, delay)] = holder

    def happen(self) -> None:
        """Before every step."""
        random, weather = self._stage.random, self._weather
        self._beat()
        if weather.gc_grace is not None and random.random() < 0.02:
            self._cluster.purge(self._stage.now)
        if self._left and random.random() < weather.fault:
            self._strike_one()

    def _strike_one(self) -> None:
        """Mostly while a batch is being sent: those steps are few."""
        random, now = self._stage.random, self._stage.now
        awake = [actor for actor in self._alive([*self._owners, *self._holders]) if actor.wakes <= now]
        writing = [actor for actor in awake if actor in self._owners and self._owners[actor].session.is_writing]
        if not writing and random.random() < 0.7:
            return
        chosen = writing if writing and random.random() < 0.7 else awake
        if chosen:
            self._left -= 1
            self._strike(chosen[random.randrange(len(chosen))])

    def _alive(self, actors: Iterable[Actor]) -> list[Actor]:
        return [actor for actor in actors if not actor.is_done and not actor.is_killed]

    def _beat(self) -> None:
        now = self._stage.now
        if now % _HEARTBEAT or self._mgmt.is_away:
            return
        for actor in self._alive(self._owners):
            is_stopped = actor.wakes > now + LEASE // 2
            if not is_stopped and self._silent_until.get(actor, 0) <= now:
                self._owners[actor].beat()

    def _strike(self, actor: Actor) -> None:
        if actor in self._holders:
            actor.kill()
            return
        random, now, in_batch = self._stage.random, self._stage.now, self._owners[actor].session.is_writing
        match random.randrange(4):
            case 0 | 1:
                actor.kill()
                self._tally[Happening.KILL] += 1
                self._tally[Happening.KILL_IN_BATCH] += in_batch
            case 2:
                stopped = random.randrange(LEASE, LEASE + self._weather.longest_stop)
                actor.stop_until(now + stopped)
                self._owners[actor].session.leave_adrift()
                self._tally[Happening.STOP] += 1
                self._tally[Happening.STOP_IN_BATCH] += in_batch
                grace = self._weather.gc_grace
                self._tally[Happening.STOP_FOR_LONG] += in_batch and grace is not None and stopped > grace
            case _:
                self._silent_until[actor] = now + 2 * LEASE
                self._tally[Happening.CUT_OFF] += 1
        for _ in range(random.choice((1, 1, 2))):
            self.start_owner(random.choice((0, 3, 30)))

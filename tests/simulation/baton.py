"""Actors that take turns: each is a greenlet, one of them runs at a time, and every request is a place to change.

Synchronous code runs unchanged. All decisions come from one random source, so that a seed gives one history. Threads
would do as well, but wait for the operating system at every change.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from random import Random
from threading import Event
from typing import Final

from greenlet import getcurrent, greenlet

MOST_STEPS: Final = 50_000
"""Of one history; a longer one does not end."""


class KilledError(BaseException):
    """The end of a process: nothing catches it on purpose."""


class StuckError(Exception):
    """A history that does not end."""


class Actor:
    """`wakes`: it does not run before this step."""

    def __init__(self, name: str, body: greenlet, wakes: int) -> None:
        self.name, self.greenlet, self.wakes, self.is_killed = name, body, wakes, False
        self.threads: list[Actor] = []
        """Other threads of the same process: they are stopped and killed with it."""

    @property
    def is_done(self) -> bool:
        # One that is killed before it began has nothing to clear up.
        return self.greenlet.dead or (self.is_killed and not self.greenlet)

    def kill(self) -> None:
        self.is_killed = True
        for thread in self.threads:
            thread.kill()

    def stop_until(self, step: int) -> None:
        self.wakes = max(self.wakes, step)
        for thread in self.threads:
            thread.stop_until(step)


class Stage:
    """Time is counted in steps. `between` runs before every step: faults happen there."""

    def __init__(self, random: Random) -> None:
        self.random, self.now = random, 0
        self.between: Callable[[], None] = lambda: None
        self.actors: list[Actor] = []
        self.running: Actor | None = None
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self._number = count()
        self._hub = getcurrent()
        self._chosen: Actor | None = None

    def enter(self, name: str, body: Callable[[], None], delay: int = 0) -> Actor:
        actor = Actor(name, greenlet(body, self._hub), self.now + delay)
        self.actors.append(actor)
        return actor

    def later(self, delay: int, happens: Callable[[], None]) -> None:
        """Have something happen between two steps."""
        heapq.heappush(self._later, (self.now + delay, next(self._number), happens))

    def settle(self) -> None:
        """Everything that is still to happen does."""
        while self._later:
            heapq.heappop(self._later)[2]()

    def play(self) -> None:
        """Until every actor is done; raises what one of them died of."""
        chosen = self._choose()
        while chosen is not None:
            self._chosen = None
            self._run(chosen)
            chosen = self._chosen or self._choose()
        self.actors.clear()

    def _run(self, actor: Actor) -> None:
        """Until another one is chosen, or it is done."""
        self.running = actor
        try:
            actor.greenlet.switch()
        except KilledError:
            pass
        except BaseException:
            # Nobody else goes on, and nothing of them is left behind.
            for other in self.actors:
                other.kill()
                with suppress(KilledError):
                    other.greenlet.throw(KilledError)
            raise
        finally:
            self.running = None

    def step(self) -> None:
        """A place where others may run, or this actor may end. Outside of a play: nothing."""
        actor = self.running
        if actor is None:
            return
        if not actor.is_killed:
            self._pass_time()
            self._chosen = self._choose()
            if self._chosen is not actor:
                self._hub.switch()
        if actor.is_killed:
            raise KilledError

    def sleep(self, steps: int) -> None:
        if self.running is not None:
            self.running.wakes = self.now + steps
        self.step()

    def _pass_time(self) -> None:
        self.now += 1
        if self.now > MOST_STEPS:
            raise StuckError(f"no end after {MOST_STEPS} steps")
        while self._later and self._later[0][0] <= self.now:
            heapq.heappop(self._later)[2]()
        self.between()

    def _choose(self) -> Actor | None:
        """Who runs next: mostly the same one, so that histories get somewhere."""
        waiting = [actor for actor in self.actors if not actor.is_done]
        ready = [actor for actor in waiting if actor.is_killed or actor.wakes <= self.now]
        if not ready:
            soonest = min(waiting, key=lambda actor: actor.wakes, default=None)
            self.now = soonest.wakes if soonest else self.now
            return soonest
        if self.running in ready and self.random.random() < 0.7:
            return self.running
        return ready[self.random.randrange(len(ready))]


class StageThread:
    """In place of a Thread: another actor of the same process."""

    def __init__(self, stage: Stage, body: Callable[[], None], name: str) -> None:
        self._stage, self._body, self._name = stage, body, name

    def start(self) -> None:
        self._actor = self._stage.enter(self._name, self._body)
        if self._stage.running is not None:
            self._stage.running.threads.append(self._actor)

    def join(self) -> None:
        while not self._actor.is_done:
            self._stage.step()


class StageEvent(Event):
    """Waits by letting others run: no real time passes. A second is a step."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def wait(self, timeout: float | None = None) -> bool:
        if not self.is_set():
            self._stage.sleep(max(1, round(timeout or 1)))
        return self.is_set()


class StageClock:
    """Milliseconds; a step is a second."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def now(self) -> int:
        return self._stage.now * 1000

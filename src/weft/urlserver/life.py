"""What the works of a URL server share while one lease lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from weft.config import Settings
from weft.mgmt.api import Mgmt
from weft.mgmt.values import Lease
from weft.urlserver.control import Control
from weft.urlserver.desk import Clocks, Desk
from weft.urlserver.frontier import Frontier
from weft.urlserver.news import News

T = TypeVar("T")

GENERATION_BITS: Final = 20
"""A generation is the moment of birth in milliseconds, then a count: no two lives ever share one."""


@dataclass(frozen=True, slots=True)
class Means:
    """What outlives a lease."""

    settings: Settings
    mgmt: Mgmt
    control: Control
    desk: Desk
    clocks: Clocks


@dataclass(slots=True)
class Life:
    means: Means
    lease: Lease
    frontier: Frontier
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Something has changed: look who may be asked."""
    lease_until: int = 0
    """Whoever may be taken for dead by the others must not ask anybody after this."""
    is_paused: bool = False
    is_draining: bool = False
    has_finished: bool = False
    """Links have ended since the control plane was last asked to hand them on."""

    @classmethod
    def begin(cls, means: Means, lease: Lease) -> Life:
        generation = means.clocks.wall.now() << GENERATION_BITS
        return cls(means, lease, Frontier(means.settings.urlserver, generation=generation))

    @property
    def now(self) -> int:
        return self.means.clocks.steady.now()

    @property
    def may_send(self) -> bool:
        return not (self.is_paused or self.is_draining) and self.now < self.lease_until

    @property
    def state(self) -> str:
        if self.is_draining or self.is_paused:
            return "draining" if self.is_draining else "paused"
        return "online" if self.may_send else "waiting for its lease"

    def learn(self, news: News) -> None:
        self.frontier.learn(news, self.now)
        self.wake.set()

    async def call(self, what: str, work: Callable[[], T]) -> T:
        """Call the control plane until it answers; raises LeaseLost."""
        return await self.means.control.call(what, work)

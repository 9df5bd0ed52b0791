"""What the tasks of a URL server share while one lease lasts; with the lease, all of it is dropped."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Final

from weft.config import Settings
from weft.mgmt.api import UrlServerCalls
from weft.mgmt.values import Lease
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.tls import client_context, uses_tls
from weft.urlserver.build_pace import LOOK_EVERY, BuildPace
from weft.urlserver.frontier import Frontier
from weft.urlserver.mgmt_gateway import Clocks, MgmtGateway
from weft.urlserver.mgmt_messages import MgmtReplies
from weft.urlserver.server_tally import ServerTally

GENERATION_BITS: Final = 20
"""A generation is the moment of birth in milliseconds, then a count: no two sessions ever share one."""


@dataclass(frozen=True, slots=True)
class UrlServerResources:
    """What outlives a lease."""

    settings: Settings
    control: ControlPlane[UrlServerCalls]
    keeper: LeaseKeeper
    gateway: MgmtGateway
    clocks: Clocks
    tls: ssl.SSLContext | None = None
    """For the spiders that are dialled with TLS; None: made when it is needed."""
    tally: ServerTally = field(default_factory=ServerTally)

    def tls_for(self, address: tuple[str, int]) -> ssl.SSLContext | None:
        """What to dial a spider with; None: in the clear, and only if the settings want that."""
        return (self.tls or client_context(self.settings)) if uses_tls(self.settings, address[0]) else None


@dataclass(slots=True)
class LeaseSession:
    resources: UrlServerResources
    lease: Lease
    frontier: Frontier
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Something has changed: look who may be asked."""
    is_draining: bool = False
    has_finished: bool = False
    """Links have ended since the control plane was last asked to hand them on."""

    @classmethod
    def begin(cls, resources: UrlServerResources, lease: Lease) -> LeaseSession:
        generation = resources.clocks.wall.now() << GENERATION_BITS
        frontier = Frontier(resources.settings.urlserver, generation=generation, tally=resources.tally)
        return cls(resources, lease, frontier)

    @property
    def now(self) -> int:
        return self.resources.clocks.monotonic.now()

    @property
    def may_send(self) -> bool:
        """Whoever others may take for dead must not ask anybody."""
        keeper = self.resources.keeper
        return not (keeper.is_paused or self.is_draining) and self.now < keeper.valid_until

    @property
    def state(self) -> str:
        if self.is_draining:
            return "draining"
        if self.resources.keeper.is_paused:
            return "paused"
        return "online" if self.may_send else "waiting for its lease"

    def learn(self, replies: MgmtReplies) -> None:
        self.frontier.learn(replies, self.now)
        self.wake.set()

    async def keep_lease(self) -> None:
        """Send heartbeats and divide the addresses with the other URL servers; raises LeaseLost."""
        control, lease = self.resources.control, self.lease
        async for _ in self.resources.keeper.heartbeats():
            # Parts that we have to give up are another's with our next call: nothing may be under way to them.
            if not self.frontier.has_foreign_in_flight:
                parts = await control.call_or_log("own_slots", lambda: control.mgmt.own_slots(lease))
                if parts is not None:
                    self.frontier.own(parts, self.now)
            self.wake.set()

    async def follow_builders(self) -> None:
        """Send no more than builders can take soon."""
        control, pace = self.resources.control, BuildPace()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self.frontier.is_empty:
                continue
            queue = await control.call_or_log("build_queue", control.mgmt.build_queue)
            in_flight = self.frontier.in_flight
            if queue is None:
                in_flight.allow()
            else:
                in_flight.allow(pace.room(queue, len(in_flight)))
                in_flight.hold(queue.crowding)
            self.wake.set()

    async def hand_on_finished(self) -> None:
        """Every `mgmt.chunk_linger` seconds, let the finished links of unfinished chunks be built."""
        control, every = self.resources.control, self.resources.settings.mgmt.chunk_linger
        while every > 0:
            await asyncio.sleep(every)
            if self.has_finished:
                self.has_finished = False
                await control.call_or_log("seal_finished", lambda: control.mgmt.seal_finished(self.lease))

"""Signs of life, the parts of all addresses that are ours, and what we are asked to be."""

from __future__ import annotations

import asyncio
import logging

from weft.mgmt.values import NodeState
from weft.urlserver.life import Life

log = logging.getLogger(__name__)


class Heart:
    def __init__(self, life: Life) -> None:
        self._life = life
        self.asked_to_drain = asyncio.Event()

    async def beat(self) -> None:
        life, settings = self._life, self._life.means.settings.mgmt
        mgmt, lease = life.means.mgmt, life.lease
        while True:
            began = life.now
            asked = await life.call("heartbeat", lambda: mgmt.heartbeat(lease))
            life.lease_until = began + round(settings.lease * 1000)
            # Parts that we were told to give up are another's with our next call: nothing may be under way to them.
            if not life.frontier.has_foreign_pendings:
                parts = await life.call("own_slots", lambda: mgmt.own_slots(lease))
                life.frontier.own(parts, life.now)
            await self._obey(asked)
            life.wake.set()
            await asyncio.sleep(settings.heartbeat)

    async def linger(self) -> None:
        """Hand on what is finished of chunks that are not."""
        life, every = self._life, self._life.means.settings.mgmt.chunk_linger
        while every > 0:
            await asyncio.sleep(every)
            if life.has_finished:
                life.has_finished = False
                await life.call("linger", lambda: life.means.mgmt.linger(life.lease))

    async def _obey(self, asked: NodeState) -> None:
        life = self._life
        if asked is NodeState.DRAINING:
            self.asked_to_drain.set()
        elif life.is_paused != (asked is NodeState.PAUSED):
            life.is_paused = asked is NodeState.PAUSED
            log.info("asked to be %s", asked)
            await life.call("tell", lambda: life.means.mgmt.tell(life.lease, asked))

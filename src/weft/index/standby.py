"""An index process of a cluster before it owns the index: it waits until nobody else does, and takes over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from weft.errors import IndexOwned, LeaseLost
from weft.roles.calls import CallThread
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest, first_of

log = logging.getLogger(__name__)

_TRY_EVERY: Final = 1.0


class StandBy:
    """Waits with a lease of its own, so that others see who stands by."""

    def __init__(
        self, keeper: LeaseKeeper, take_over: Callable[[], None], write_status: Callable[[dict[str, Any]], None]
    ) -> None:
        """`take_over` makes this process the owner, under the keeper's lease; it raises IndexOwned while it cannot."""
        self._keeper, self._take_over, self._write_status = keeper, take_over, write_status
        self._thread = CallThread("weft-standby")
        self._owner = ""

    async def run(self, stop: StopRequest, give_up: Callable[[], None]) -> bool:
        """Whether this process owns the index now; False: it was asked to stop. `give_up` ends a call that waits."""
        self._keeper.figures = self._facts
        await self._keeper.register()
        work = asyncio.create_task(self._wait())
        beats = asyncio.create_task(self._keep_lease())
        try:
            await first_of(work, stop.asked.wait(), self._keeper.drain_requested.wait())
            return work.done()
        finally:
            beats.cancel()
            if not work.done():
                give_up()
                work.cancel()
                await self._keeper.leave()
            await asyncio.gather(work, beats, return_exceptions=True)
            await self._thread.finish()
            self._thread.stop()

    async def _keep_lease(self) -> None:
        async for _ in self._keeper.heartbeats(registers_again=True):
            pass

    async def _wait(self) -> None:
        while True:
            try:
                await self._thread.do(self._take_over)
            except IndexOwned as owned:
                self._tell(owned)
            except LeaseLost:
                pass  # the heartbeats get another one
            else:
                return
            await asyncio.sleep(_TRY_EVERY)

    def _tell(self, owned: IndexOwned) -> None:
        if owned.address != self._owner:
            self._owner = owned.address
            log.info("standing by: %s owns the index", owned.address)
        self._write_status(self._facts())

    def _facts(self) -> dict[str, Any]:
        return {"stands_by": True, "owner": self._owner}

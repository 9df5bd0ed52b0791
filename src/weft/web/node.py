"""The web app as a node: it registers in the background, and answers whatever becomes of the control plane."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from weft.answers.nodes import is_crawling
from weft.errors import LeaseLost, WeftError
from weft.mgmt.api import WebAppCalls
from weft.mgmt.values import NodeState
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest

log = logging.getLogger(__name__)

_CLOSE_SECONDS: Final = 2.0


class Waits(NamedTuple):
    """In seconds."""

    first: float = 1.0
    """After the first try that failed; twice as long after each more."""
    longest: float = 30.0
    draining: float = 1.0
    """Between two looks at who else is ending."""


class WebNode:
    """Holds no work, so nothing depends on its lease: whatever goes wrong, it registers again after a while."""

    def __init__(
        self,
        control: ControlPlane[WebAppCalls],
        keeper: LeaseKeeper,
        *,
        is_supervised: bool = False,
        waits: Waits | None = None,
    ) -> None:
        """One that is supervised leaves it to its supervisor to end: that ends the whole run, and this one last."""
        self._control, self._keeper, self._is_supervised = control, keeper, is_supervised
        self._waits = waits or Waits()
        self._is_registered, self._is_told = False, False
        self._registering: asyncio.Task[None] | None = None

    async def run(self, figures: Callable[[], dict[str, Any]], stop: StopRequest) -> None:
        """Until it is cancelled, or asked to drain: then it asks the whole app to stop."""
        self._keeper.figures = figures
        wait = self._waits.first
        while True:
            try:
                await self._beat()
            except Exception as error:
                self._is_registered = False
                self._tell_once(error)
                await asyncio.sleep(wait)
                wait = min(2 * wait, self._waits.longest)
                continue
            self._is_told, wait = False, self._waits.first
            if not self._keeper.drain_requested.is_set() or self._is_supervised:
                await self._keeper.rest()
            elif await self._do_others_drain():
                await asyncio.sleep(self._waits.draining)
            else:
                break
        if not stop.asked.is_set():  # a second time would mean haste
            stop.ask("asked to drain")

    async def leave(self) -> None:
        """Does not wait for long, whatever the control plane does."""
        if self._registering is not None:  # a call that has begun is made all the same
            await asyncio.wait([self._registering], timeout=_CLOSE_SECONDS)
        if self._is_registered:
            await self._keeper.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._control.call("close", self._control.mgmt.close)
        self._control.close()

    async def _beat(self) -> None:
        if not self._is_registered:
            self._registering = asyncio.create_task(self._register())
            await asyncio.shield(self._registering)
        await self._keeper.beat(self._keeper.lease)

    async def _register(self) -> None:
        await self._keeper.register()
        self._is_registered = True

    async def _do_others_drain(self) -> bool:
        """Whether nodes that were asked to drain, too, have not ended: people watch them here."""
        await self._keeper.drain()
        try:
            nodes = await self._control.call("nodes", self._control.mgmt.nodes)
        except WeftError:
            return False
        return any(is_crawling(node) and node.asked is NodeState.DRAINING for node in nodes)

    def _tell_once(self, error: Exception) -> None:
        """Not with every try. A lost lease is nothing to tell, because the next try takes a new one."""
        if not self._is_told and not isinstance(error, LeaseLost):
            self._is_told = True
            surprise = None if isinstance(error, WeftError) else error
            log.warning("not known to the control plane, trying again reason=%s", error, exc_info=surprise)

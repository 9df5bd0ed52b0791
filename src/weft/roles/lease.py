"""A role's lease: taken, renewed in the background, taken again when it is lost, and given up at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final

from weft.clock import Clock, MonotonicClock, SystemClock
from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost, WeftError
from weft.mgmt.api import NodeCalls
from weft.mgmt.values import Lease, NodeAbout, NodeState, NodeTold, NodeType
from weft.roles.calls import ControlPlane
from weft.roles.process_figures import ProcessFigures

log = logging.getLogger(__name__)

TELL_SECONDS: Final = 5.0
"""How long a role that leaves waits for the control plane to take note."""


class LeaseKeeper:
    """Registers a node, sends its heartbeats and knows what it is asked to be.

    Every role iterates over `heartbeats()` in a task of its own, so that it beats however busy the role is.
    """

    def __init__(
        self,
        control: ControlPlane[NodeCalls],
        node: NodeType,
        address: str,
        settings: MgmtSettings,
        clock: Clock | None = None,
        about: NodeAbout | None = None,
        row: int = 0,
        *,
        may_pause: bool = True,
    ) -> None:
        """`row` is an index server's. A node that may not pause stays online when it is asked to."""
        self._row, self._may_pause = row, may_pause
        self._control, self.node, self.address = control, node, address
        self._settings, self._clock, self._about = settings, clock or MonotonicClock(), about
        self.figures: Callable[[], dict[str, Any]] = dict
        """How the role is doing, for `weft status` and metrics; told with every heartbeat."""
        self._process = ProcessFigures()
        self._wall = SystemClock()
        self._registering = asyncio.Lock()
        self._has_news = asyncio.Event()
        self._told = NodeState.OFFLINE
        self.lease: Lease
        """The current one, from register() on."""
        self.valid_until = 0
        """By our own monotonic clock, on the safe side: after this, others may hold what was ours. 0: no heartbeat of
        this lease has been answered yet."""
        self.asked: NodeState | None = None
        """What the node is asked to be. None: not known before the first heartbeat is answered, and a pause outlives a
        restart."""
        self.drain_requested = asyncio.Event()

    @property
    def is_paused(self) -> bool:
        return self.asked is NodeState.PAUSED

    @property
    def problem(self) -> str:
        """Why this node may not work now; empty: it may."""
        if not self.valid_until:
            return "it has no lease of the control plane yet"
        late = self._clock.now() - self.valid_until
        return f"its lease ended {late / 1000:.0f} s ago: no heartbeat was answered since" if late >= 0 else ""

    def told(self) -> dict[str, Any]:
        """All that a heartbeat tells: the role's own figures, its process, and its calls of the control plane."""
        return {**self.figures(), "process": self._process.facts(), "control": self._control.tally.facts()}

    async def register(self) -> Lease:
        """Take a new lease; what the last one held is freed."""
        address = self.address
        self.valid_until = 0
        mgmt, about, row = self._control.mgmt, self._about, self._row
        self.lease = await self._control.call("register", lambda: mgmt.register(self.node, address, row, about=about))
        self._told = NodeState.ONLINE
        log.info("registered address=%s epoch=%d", address, self.lease.epoch)
        return self.lease

    async def register_again(self, lost: Lease) -> None:
        """Replace a lost lease, unless another task has done so already."""
        async with self._registering:
            if self.lease == lost:
                log.warning("lease lost, registering again address=%s", self.address)
                await self.register()

    async def heartbeats(self, *, registers_again: bool = False) -> AsyncIterator[NodeState]:
        """Renew the lease for ever; yields, after each renewal, what the node is asked to be.

        A lost lease raises LeaseLost, so that the role drops what it holds; with `registers_again` it is replaced
        instead, for a role that holds nothing by it or learns of the loss from its own calls.
        """
        while True:
            lease = self.lease
            try:
                if await self._has_beaten(lease) and self.asked is not None:
                    yield self.asked
            except LeaseLost:
                if not registers_again:
                    raise
                await self.register_again(lease)
                continue
            await self.rest()

    def beat_soon(self) -> None:
        """The figures have changed in a way that others should know of."""
        self._has_news.set()

    async def release(self) -> None:
        """Give back everything that is held, known to the role or not, and take a new lease."""
        async with self._registering:
            lease = self.lease
            await self._control.call("tell", lambda: self._control.mgmt.tell(lease, NodeState.OFFLINE))
            await self.register()

    async def drain(self) -> bool:
        """Tell the control plane that this node finishes its work; False: it could not be told in time."""
        return await self._tell_before_leaving(NodeState.DRAINING)

    async def leave(self) -> None:
        """Give everything back. A control plane that does not hear of it finds out when the lease ends."""
        await self._tell_before_leaving(NodeState.OFFLINE)
        log.info("left address=%s", self.address)

    async def rest(self) -> None:
        """Until the next heartbeat is due, or there are news."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.heartbeat):
                await self._has_news.wait()
        self._has_news.clear()

    async def beat(self, lease: Lease) -> None:
        """One heartbeat; raises LeaseLost and whatever the control plane refuses."""
        began, mgmt, figures = self._clock.now(), self._control.mgmt, self.told()
        # The clock is read when the call is made: it may be repeated for minutes.
        asked = await self._control.call(
            "heartbeat", lambda: mgmt.heartbeat(lease, NodeTold(clock=self._wall.now(), figures=figures))
        )
        self.valid_until = began + round(self._settings.lease * 1000)
        await self._obey(lease, asked)

    async def _has_beaten(self, lease: Lease) -> bool:
        try:
            await self.beat(lease)
        except LeaseLost:
            raise
        except Exception:
            # The work goes on; if heartbeats keep failing, the lease ends by itself.
            log.exception("heartbeat failed address=%s", self.address)
            return False
        return True

    async def _obey(self, lease: Lease, asked: NodeState) -> None:
        if asked is NodeState.PAUSED and not self._may_pause:
            asked = NodeState.ONLINE
        self.asked = self.asked or asked
        if self._told in (NodeState.DRAINING, NodeState.OFFLINE):
            return
        if asked is NodeState.DRAINING:
            self.drain_requested.set()
            return
        self.asked = asked
        if asked is not self._told:
            log.info("asked to be %s", asked)
            await self._control.call_or_log("tell", lambda: self._control.mgmt.tell(lease, asked))
            self._told = asked

    async def _tell_before_leaving(self, state: NodeState) -> bool:
        if self._told is NodeState.OFFLINE:
            return False
        lease, self._told = self.lease, state
        try:
            async with asyncio.timeout(TELL_SECONDS):
                await self._control.call("tell", lambda: self._control.mgmt.tell(lease, state))
        except (WeftError, TimeoutError) as error:
            log.warning("control plane was not told that %s is %s reason=%s", self.address, state, error)
            return False
        return True

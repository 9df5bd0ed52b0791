"""The loop of the index process: builds crawled chunks, runs the dispatcher, and reports its status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from weft.clock import Clock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.scope import Scope
from weft.errors import LeaseLost, MgmtError
from weft.index.build_tally import BuildTally
from weft.index.builder import Builder
from weft.index.idleness import Idleness
from weft.index.outstanding_limit import OutstandingLimit
from weft.mgmt.api import BuilderCalls
from weft.mgmt.rules.chunks import CROWDING, HEAVY_FOR, SEALED_MOST
from weft.mgmt.values import BuildChunk, Lease
from weft.roles.calls import CallThread, ControlPlane, until_available
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest, first_of

log = logging.getLogger(__name__)

TAKES: Final = 10
"""How often chunks are taken before a round: they may be small, and nobody knows before they are taken."""
_IDLE: Final = 0.1
_LONGEST_IDLE: Final = 1.0
_STATUS_EVERY: Final = 1.0
_LOOK_AT_HEAVY_EVERY: Final = 0.2
"""Seconds: a round that takes no longer need not be told of."""
FINISH_SECONDS: Final = 20.0
"""How long a stopping process may take to build what was crawled."""
_LOOK_AT_SITES_EVERY: Final = 2000
_LOOK_AT_STORE_EVERY: Final = 5000
_SITES_SHARE: Final = 50
"""Looking at the sites takes at most one part in so many of the time: somebody may have added a million."""


@dataclass(frozen=True, slots=True)
class IndexResources:
    control: ControlPlane[BuilderCalls]
    keeper: LeaseKeeper
    builder: Builder
    dispatcher: Dispatcher
    settings: DispatcherSettings
    clock: Clock
    """Nobody may set it back: rates and waits are measured by it."""
    write_status: Callable[[dict[str, Any]], None]
    cluster: ClusterPart | None = None
    """None: the index is this process's for as long as it runs."""


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """What is different for the owner of a cluster's index: without its lease, another process may be the owner."""

    give_up: Callable[[], None]
    """Lets a write end that waits for the cluster or the control plane: the next owner writes what was registered."""
    waits_for: Callable[[], str]
    """Why nothing can be written now, for people; empty: nothing is in the way."""


class IndexService:
    """One loop over both jobs; each step is whole, so that it may be killed between any two.

    Builder and dispatcher work in a thread, one call at a time; heartbeats and status reports continue meanwhile.
    """

    def __init__(self, resources: IndexResources) -> None:
        self._control, self._keeper = resources.control, resources.keeper
        self._builder, self._dispatcher, self._settings = resources.builder, resources.dispatcher, resources.settings
        self._clock, self._write_status, self._cluster = resources.clock, resources.write_status, resources.cluster
        self._thread = CallThread("weft-index")
        self._may_work = asyncio.Event()
        """Cleared while the process is asked to pause, and until it knows."""
        self._stopping = asyncio.Event()
        self._may_hold_more = False
        self._held_under: Lease | None = None
        """The lease under which the builder's chunks were taken."""
        self._reachable: dict[str, None] = {"": None}
        """Nodes that can be asked for records again, of which the control plane has not heard.

        "" means all of them: a new process does not know who was away.
        """
        self._scope: Scope | None = None
        """None: the sites were never read. Nothing is built without them: links out of scope leave no trace."""
        self._sites_at = 0
        self._outstanding = 0
        self._retrying = 0
        """Links that wait to be fetched again within this crawl, when it was last idle."""
        self._refused: dict[str, int] = {}
        self._crowding: list[str] = []
        self._store: dict[str, int] = {}
        self._store_at = 0
        self._supply = OutstandingLimit(self._settings.outstanding)
        self.tally = BuildTally()
        self._idleness, self._has_news = Idleness(), asyncio.Event()

    async def run(self, stop: StopRequest) -> None:
        """Work until asked to stop; then build what was crawled until now, so that the answers are complete.

        In a cluster it works under the lease that it took over with; raises LeaseLost or OwnerReplaced when the index
        is another's.
        """
        self._keeper.figures = self._facts
        if self._cluster is None:
            await self._keeper.register()
        work = asyncio.create_task(self._work_and_report())
        try:
            await first_of(work, stop.asked.wait(), self._keeper.drain_requested.wait())
            self._stopping.set()
            self._may_work.set()
            # Without a control plane there is nothing to build.
            patience = FINISH_SECONDS if await self._keeper.drain() else 0
            await first_of(work, stop.at_once.wait(), asyncio.sleep(patience))
            if not work.done():
                log.warning("not all that was crawled is built; the next start builds the rest")
        finally:
            if self._cluster is not None and not work.done():
                self._cluster.give_up()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            # The store must not be closed while the thread writes to it.
            await self._thread.finish()
            await self._keeper.leave()
        self._write_status({**self._facts(), "ended": True})

    async def _work_and_report(self) -> None:
        async with asyncio.TaskGroup() as group:
            jobs = (self._keep_lease(), self._report_status(), self._tell_of_heavy())
            background = [group.create_task(job) for job in jobs]
            await self._work()
            for task in background:
                task.cancel()

    async def _keep_lease(self) -> None:
        async for _ in self._keeper.heartbeats(registers_again=self._cluster is None):
            is_on = not self._keeper.is_paused or self._stopping.is_set()
            if is_on == self._may_work.is_set():
                continue
            if is_on:
                self._may_work.set()
            else:
                self._may_work.clear()
            self._has_news.set()

    async def _report_status(self) -> None:
        while True:
            self._has_news.clear()
            self._write_status(self._facts())
            await _wait(self._has_news, _STATUS_EVERY)

    async def _work(self) -> None:
        self._outstanding = await self._thread.do(self._dispatcher.outstanding)
        await self._look_at_markers()
        idle = _IDLE
        while await self._is_on():
            has_worked = await self.step()
            idle = _IDLE if has_worked else min(idle * 1.5, _LONGEST_IDLE)
            if not has_worked:
                await _wait(self._stopping, idle)
        while self._keeper.asked is None:
            # It may be paused.
            await asyncio.sleep(_IDLE)
        while not self._keeper.is_paused and await self._build(await self._look_at_sites()):
            pass

    async def _look_at_markers(self) -> None:
        """Markers that a process before this one left behind: with every restart there would be some more."""
        marked = await self._thread.do(self._builder.marked)
        unbuilt = await self._control.call_or_log("unbuilt", lambda: self._control.mgmt.unbuilt(marked))
        if unbuilt is not None:
            for chunk in set(marked) - unbuilt:
                self._builder.reported(chunk)

    async def _is_on(self) -> bool:
        """Waits while paused; False: stop."""
        await self._may_work.wait()
        while self._cluster is not None and self._keeper.problem and not self._stopping.is_set():
            # By our own clock the lease has ended: the next heartbeat tells whether it has.
            await _wait(self._stopping, _IDLE)
        return not self._stopping.is_set()

    async def step(self) -> bool:
        """Build what is crawled, then give out what is wanted; whether there was anything to do."""
        began = self._clock.now()
        scope = await self._look_at_sites()
        await self._look_at_store()
        built = await self._build(scope)
        given = await self._dispatch(scope)
        if built or given:
            self._idleness.worked()
            return True
        # Before it says that it is idle: a crawl ends when there is nothing of either.
        self._retrying = await self._thread.do(self._dispatcher.retrying)
        self._idleness.found_nothing(began)
        self._has_news.set()
        return False

    async def _build(self, scope: Scope) -> bool:
        """Whether there is anything to build, or was until now."""
        lease = self._keeper.lease
        try:
            await self._tell_reachable(lease)
            await self._open(lease)
            was_busy = self._builder.is_busy
            if was_busy:
                await self._load(scope)
                await self._report(lease)
                await self._give_back(lease)
        except LeaseLost:
            if self._cluster is not None:
                raise
            await self._keeper.register_again(lease)
            return True
        if was_busy:
            return True
        self._supply.after_rest()
        await self._release_unknown()
        return False

    async def _open(self, lease: Lease) -> None:
        """Take chunks in hand, if there is room for them."""
        if self._held_under not in (None, lease):
            # The chunks are another's, or offered again: whoever builds one that is loaded finds its marker.
            await self._thread.do(self._builder.drop)
        self._held_under = lease
        for _ in range(TAKES):
            if not (self._builder.has_room and (chunks := await self._take(lease))):
                break
            await self._thread.do(partial(self._builder.open, chunks))

    async def _take(self, lease: Lease) -> list[BuildChunk]:
        attempts, most = 0, self._builder.room // SEALED_MOST + 1

        def take() -> list[BuildChunk]:
            nonlocal attempts
            attempts += 1
            return self._control.mgmt.take_crawled(lease, most)

        chunks = await self._control.call_or_log("take_crawled", take)
        self._may_hold_more |= attempts > 1
        return chunks or []

    async def _release_unknown(self) -> None:
        """Chunks whose answer was lost, or whose report was refused, are ours and we have forgotten them.

        With a new lease they are offered again. Not at once: what is refused may be refused again.
        """
        if self._may_hold_more:
            await asyncio.sleep(_LONGEST_IDLE)
            self._may_hold_more = False
            if self._cluster is not None:
                raise LeaseLost(self._keeper.address, self._keeper.lease.epoch)
            await self._keeper.release()

    async def _load(self, scope: Scope) -> None:
        began = self._clock.now()
        built = await self._thread.do(lambda: self._builder.build(scope))
        if not built.results:
            return
        took = self._clock.now() - began
        if not built.is_heavy:
            # Heavy fetches wait because others go first: asking for less would not help.
            self._supply.after_round(took, built.freshness)
        self._dispatcher.fetches_ended(built.uris)
        self.tally.add(built, took, self._clock.now())
        self._outstanding = max(0, self._outstanding - built.results)
        self._refused = {str(kind): count for kind, count in self._builder.discovery.refused.items()}

    async def _tell_of_heavy(self) -> None:
        """URL servers learn from the figures of which domains they should send nothing now, and why others wait."""
        was_heavy = False
        while True:
            crowding, is_heavy = self._builder.crowding, self._builder.heavy_since is not None
            if (crowding, is_heavy) != (self._crowding, was_heavy):
                self._crowding, was_heavy = crowding, is_heavy
                self._keeper.beat_soon()
            await asyncio.sleep(_LOOK_AT_HEAVY_EVERY)

    async def _report(self, lease: Lease) -> None:
        """Tell the control plane which chunks are built; one whose report is refused is offered again."""
        mgmt = self._control.mgmt
        for chunk in await self._thread.do(self._builder.take_built):
            built = partial(mgmt.built, lease, chunk.id, chunk.attempt, self._builder.seq)
            answer = await self._control.call_or_log("built", built)
            if answer is None:
                self._may_hold_more = True
            else:
                self._builder.reported(chunk.id)
                self.tally.chunks += 1

    async def _give_back(self, lease: Lease) -> None:
        """Let chunks wait whose records lie on nodes that are away; what is loaded of them stays loaded."""
        mgmt = self._control.mgmt
        for chunk, node, wait in await self._thread.do(self._builder.take_waiting):
            wait_for_it = partial(mgmt.wait_for_records, lease, chunk.id, chunk.attempt, node, wait)
            if await self._control.call_or_log("wait_for_records", wait_for_it) is None:
                self._may_hold_more = True

    async def _tell_reachable(self, lease: Lease) -> None:
        """Chunks that wait for a node that is back are offered at once; a call that fails is made again later."""
        self._reachable |= dict.fromkeys(self._builder.parking.take_reachable())
        for node in list(self._reachable):
            await self._control.call_or_log("records_back", partial(self._control.mgmt.records_back, lease, node))
            del self._reachable[node]

    async def _dispatch(self, scope: Scope) -> bool:
        # Without room too: what was left out may have to be looked at again.
        room = max(0, self._supply.links - self._outstanding)
        try:
            step = await until_available(
                "dispatch", lambda: self._thread.do(lambda: self._dispatcher.step(scope, room, self._builder.is_heavy))
            )
        except MgmtError as error:
            log.error("control plane refused the next segments reason=%s", error)
            return False
        self._outstanding += step.given
        self.tally.given += step.given
        if step.has_new_sites:
            self._sites_at = 0
        return bool(step.given or step.hidden or step.looked_at)

    async def _look_at_sites(self) -> Scope:
        """The scope by the sites as they were lately."""
        began = self._clock.now()
        if self._scope is None or began >= self._sites_at:
            sites = await self._control.call("sites", self._control.mgmt.sites)
            self._scope = await self._thread.do(lambda: Scope(sites, self._settings))
            took = self._clock.now() - began
            self._sites_at = began + max(_LOOK_AT_SITES_EVERY, took * _SITES_SHARE)
        return self._scope

    async def _look_at_store(self) -> None:
        if self._clock.now() >= self._store_at:
            self._store = await self._thread.do(self._builder.store_figures)
            self._store_at = self._clock.now() + _LOOK_AT_STORE_EVERY

    def _facts(self) -> dict[str, Any]:
        facts = {**self.tally.facts(self._clock.now()), "outstanding": self._outstanding, "retrying": self._retrying}
        nodes = self._builder.parking.away()
        away = {node: {"seconds": round(at.seconds), "reason": at.reason} for node, at in nodes.items()}
        idle = self._idleness.facts() if self._may_work.is_set() else None
        if self._cluster is not None:
            facts["waits_for"] = self._cluster.waits_for()
        told = {"idle": idle, "is_idle": idle is not None, "refused": self._refused, "away": away, "store": self._store}
        since = self._builder.heavy_since
        heavy_for = 0 if since is None else max(1, self._clock.now() - since)
        return {**facts, **told, CROWDING: self._crowding, HEAVY_FOR: heavy_for}


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()

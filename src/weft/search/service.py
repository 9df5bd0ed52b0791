"""The loop of an index server: owns shards of its row, follows the index, and reports how far it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from weft.errors import LeaseLost
from weft.mgmt.api import IndexServerCalls
from weft.mgmt.values import Lease
from weft.roles.calls import CallThread, ControlPlane
from weft.roles.lease import TELL_SECONDS, LeaseKeeper
from weft.roles.stop import StopRequest, first_of
from weft.search.shard_upkeep import ShardUpkeep

log = logging.getLogger(__name__)

FINISH_SECONDS: Final = 20.0
"""How long a stopping server may get nothing done; while it gets on, it completes search."""
_FIRST_ANSWER_SECONDS: Final = 5.0
_STATUS_EVERY: Final = 1.0
_RETRY_EVERY: Final = 0.2


@dataclass(frozen=True, slots=True)
class ServerResources:
    control: ControlPlane[IndexServerCalls]
    keeper: LeaseKeeper
    upkeep: ShardUpkeep
    commit_every: float
    write_status: Callable[[dict[str, Any]], None]


class IndexServer:
    """Writing happens in a thread, a turn after the other; heartbeats and answers continue meanwhile.

    Every turn leaves the shards whole, so it may be killed between any two operations.
    """

    def __init__(self, resources: ServerResources) -> None:
        self._control, self.keeper, self.upkeep = resources.control, resources.keeper, resources.upkeep
        self._count, self._commit_every = resources.upkeep.figures.count, resources.commit_every
        self._write_status = resources.write_status
        self._thread = CallThread("weft-search")
        self._wanted: frozenset[int] = frozenset()
        self._has_asked, self._wake, self._has_news = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._calls = asyncio.Lock()
        """What is acknowledged counts for the shards of the last answer: no other may come between."""
        self._acknowledged: tuple[Lease, frozenset[int], int] | None = None
        self._dropped = 0
        self._is_stopping = False
        self._stop: StopRequest

    @property
    def wanted(self) -> frozenset[int]:
        """Shards that are this server's."""
        return self._wanted

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self.upkeep.figures)
        return found

    def _status(self) -> dict[str, Any]:
        return {**self.facts(), "address": self.keeper.address}

    async def serve_what_is_there(self) -> None:
        """Before anybody says which shards are ours: a server that was away for a moment answers at once."""
        await self._thread.do(lambda: self.upkeep.rest(range(self._count)))

    async def run(self, stop: StopRequest) -> None:
        """Work until asked to stop; then write what the index has by now, so that search is complete."""
        self._stop = stop
        work = asyncio.create_task(self._work_and_report())
        try:
            await first_of(work, stop.asked.wait(), self.keeper.drain_requested.wait())
            # A server that drains gets no shards any more: one that has just started must have them first.
            patience = asyncio.sleep(_FIRST_ANSWER_SECONDS)
            await first_of(work, stop.at_once.wait(), self._has_asked.wait(), patience)
            await self.keeper.drain()
            self._is_stopping = True
            self._wake.set()
            await first_of(work, stop.at_once.wait(), self._until_stuck())
            if not work.done():
                log.warning("search is not complete; the next start goes on where this one stopped")
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        self._write_status({**self._status(), "ended": True})

    async def close(self) -> None:
        """Let go of the shards, then of the lease: whoever gets them next finds them free."""
        await self._thread.do(self.upkeep.close)
        await self.keeper.leave()

    async def _work_and_report(self) -> None:
        async with asyncio.TaskGroup() as group:
            jobs = (self._keep_lease(), self._report_status(), self._report_progress())
            background = [group.create_task(job) for job in jobs]
            await self._work()
            for task in background:
                task.cancel()

    async def _keep_lease(self) -> None:
        async for _ in self.keeper.heartbeats(registers_again=True):
            await self._with_lease(self._ask_for_shards)

    async def _ask_for_shards(self, lease: Lease) -> None:
        mgmt, count = self._control.mgmt, self._count
        async with self._calls:
            found = await self._control.call_or_log("own_shards", lambda: mgmt.own_shards(lease, count))
            if found is None:
                return
            if found != self._wanted:
                log.info("own shards=%s", sorted(found))
                self._wake.set()
            self._wanted = found
            self._has_asked.set()

    async def _report_status(self) -> None:
        while True:
            self._write_status(self._status())
            await asyncio.sleep(_STATUS_EVERY)

    async def _work(self) -> None:
        await self._has_asked.wait()
        loop = asyncio.get_running_loop()
        while not self._is_stopping:
            self._wake.clear()
            began = loop.time()
            await self._turn()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(began + self._commit_every):
                    await self._wake.wait()
        while not await self._thread.do(self._finish):
            self._has_news.set()
            await asyncio.sleep(_RETRY_EVERY)
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_SECONDS):
                await self._with_lease(self._acknowledge)

    async def _turn(self) -> None:
        if self.keeper.is_paused:
            await self._thread.do(lambda: self.upkeep.rest(self._wanted))
            return
        wanted, before = self._wanted, self.upkeep.figures.shards
        await self._thread.do(lambda: self.upkeep.turn(wanted, lambda: self._is_build_over(wanted)))
        if self.upkeep.figures.shards != before:
            self.keeper.beat_soon()
        self._has_news.set()

    async def _report_progress(self) -> None:
        """On its own: while the control plane is away, everything else goes on."""
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            if self.upkeep.dropped != self._dropped:
                # What was acknowledged is not there any more, until it is built anew.
                self._dropped = self.upkeep.dropped
                await self.keeper.release()
                await self._with_lease(self._ask_for_shards)
            await self._with_lease(self._acknowledge)

    def _finish(self) -> bool:
        wanted = self._wanted
        return self.upkeep.finish(wanted, lambda: self._is_build_over(wanted))

    def _is_build_over(self, wanted: frozenset[int]) -> bool:
        return self._stop.at_once.is_set() or not wanted <= self._wanted

    async def _acknowledge(self, lease: Lease) -> None:
        mgmt = self._control.mgmt
        async with self._calls:
            figures = self.upkeep.figures
            told = (lease, self._wanted, figures.references)
            if told == self._acknowledged or not self._wanted or self._wanted != self.upkeep.owned:
                return
            seq = figures.references
            await self._control.call_or_log("acknowledge", lambda: mgmt.acknowledge(lease, seq))
            self._acknowledged = told

    async def _with_lease(self, call: Callable[[Lease], Any]) -> None:
        """Make a call that needs the lease; one that is lost is replaced, and what was ours is asked for again."""
        lease = self.keeper.lease
        try:
            await call(lease)
        except LeaseLost:
            await self.keeper.register_again(lease)

    async def _until_stuck(self) -> None:
        """Wait until nothing was done for a while."""
        last, since = self._progress(), asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - since < FINISH_SECONDS:
            await asyncio.sleep(_STATUS_EVERY)
            if self._progress() != last:
                last, since = self._progress(), asyncio.get_running_loop().time()

    def _progress(self) -> tuple[int, ...]:
        figures = self.upkeep.figures
        return figures.written, figures.build, figures.content, figures.references

"""The URL server's loop: fill, resolve, send, read replies, time out; under one lease after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from weft.addresses.resolver import Resolver
from weft.config import spiders
from weft.errors import LeaseLost, WeftError
from weft.model.fetch_error import FetchError
from weft.roles.stop import StopRequest, first_of
from weft.urlserver.dns_lookups import DnsLookups
from weft.urlserver.in_flight import SpiderId
from weft.urlserver.lease_session import LeaseSession, UrlServerResources
from weft.urlserver.refill import Refill
from weft.urlserver.spider_connection import SpiderLine
from weft.urlserver.spider_replies import SpiderReplies
from weft.urlserver.view.server_figures import server_figures
from weft.urlserver.view.snapshot import HostView, Snapshot, SpiderView, host_view, queue_views
from weft.wire import Fetch, WireError, encode_request

log = logging.getLogger(__name__)

STATUS_SECONDS: Final = 1.0
IDLE_STATUS_SECONDS: Final = 4.0
MOST_SHOWN: Final = 200
"""Queues in a snapshot."""


class SessionTasks:
    """Everything a URL server does while one lease lasts."""

    def __init__(self, session: LeaseSession, resolver: Resolver, tell: Callable[[Snapshot], None]) -> None:
        self.session, self.frontier, self._tell = session, session.frontier, tell
        settings = session.resources.settings
        self._replies = SpiderReplies(session)
        self._lookups = DnsLookups(session, resolver)
        tls_for = session.resources.tls_for
        addresses = spiders(settings.urlserver.spider_host, settings.urlserver.spider_port)
        self.lines = [
            SpiderLine(SpiderId(number), address, settings.spider.token, self._replies, tls_for(address))
            for number, address in enumerate(addresses)
        ]
        self._refill = Refill(session, self._lookups, lambda: any(not line.problem for line in self.lines))

    async def run(self) -> None:
        """Work until cancelled; raises LeaseLost, in a group."""
        works: list[Coroutine[Any, Any, None]] = [line.keep() for line in self.lines]
        works += [self._send(), self._tell_status(), self._refill.send_requests(), self._refill.fill()]
        works += [self._refill.follow_settings()]
        works += [self._replies.take_returns(), self._lookups.keep()]
        works += [self.session.keep_lease(), self.session.hand_on_finished(), self.session.follow_builders()]
        try:
            async with asyncio.TaskGroup() as group:
                for work in works:
                    group.create_task(work)
        finally:
            self._lookups.stop()

    async def drain(self, seconds: float) -> None:
        """Ask nobody any more and wait for what is under way; the rest is given back by leaving."""
        self.session.is_draining = True
        await self.session.resources.keeper.drain()
        try:
            async with asyncio.timeout(seconds):
                while len(self.frontier.in_flight) or not self._refill.is_idle:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            log.warning("URLs still with spiders are given back count=%d", len(self.frontier.in_flight))

    async def _tell_status(self) -> None:
        while True:
            await asyncio.to_thread(self._tell, self.snapshot())
            # While a spider is missing somebody may be looking for the reason.
            is_quiet = self.frontier.is_empty and not any(line.problem for line in self.lines)
            await asyncio.sleep(IDLE_STATUS_SECONDS if is_quiet else STATUS_SECONDS)

    def snapshot(self, most: int = MOST_SHOWN) -> Snapshot:
        """What the queues look like now."""
        queues, loads = self.frontier.registry.queues, self.frontier.in_flight.loads()
        return Snapshot(
            server=self.session.lease.address,
            state=self.session.state,
            queue_count=queues.count,
            queue_len=queues.length,
            concurrent=self.frontier.registry.politeness.host_concurrent,
            taken=queues.taken,
            queued=queues.queued,
            leftovers=queues.leftovers,
            without_queue=len(queues.slotless),
            arriving=queues.arriving,
            spiders=[SpiderView(line.name, loads.get(line.spider, 0), line.problem) for line in self.lines],
            queues=queue_views(self.frontier, self.session.now, most),
        )

    async def _send(self) -> None:
        """The loop: whoever may be asked is asked; then wait for an event or the next moment."""
        session = self.session
        while True:
            session.wake.clear()
            for spider in self._replies.find_silent():
                self.lines[spider].hang_up()
            self.frontier.registry.forget(session.now)
            if session.may_send:
                self._send_due(session.now)
            self._refill.look()
            await self._sleep_until(self.frontier.next_moment(may_send=session.may_send))

    def _send_due(self, now: int) -> None:
        lines: dict[SpiderId, list[bytes]] = {}
        for spider, fetch in self.frontier.due(now):
            lines.setdefault(spider, []).append(self._encoded(fetch, now))
        for spider, some in lines.items():
            self.lines[spider].write(b"".join(some))

    def _encoded(self, fetch: Fetch, now: int) -> bytes:
        try:
            return encode_request(fetch)
        except WireError as error:
            log.info("URL cannot be sent doc_id=%d reason=%s", fetch.doc_id, error)
            self.frontier.returns.refuse(fetch.trans_id, FetchError.BAD_URL, now)
            return b""

    async def _sleep_until(self, moment: int | None) -> None:
        """Until something happens, at the latest at `moment`."""
        if moment is None:
            await self.session.wake.wait()
            return
        seconds = max(0, moment - self.session.now) / 1000
        timer = asyncio.get_running_loop().call_later(seconds, self.session.wake.set)
        try:
            await self.session.wake.wait()
        finally:
            timer.cancel()


class UrlServer:
    def __init__(self, resources: UrlServerResources, resolver: Resolver, tell: Callable[[Snapshot], None]) -> None:
        """`tell` is called in a thread, every second, with what the queues look like."""
        self._resources, self._resolver, self._tell = resources, resolver, tell
        self.tasks: SessionTasks | None = None
        """None before the first lease."""

    async def run(self, stop: StopRequest, ready: Callable[[], None]) -> None:
        """Work until asked to stop, then give back what is held."""
        keeper = self._resources.keeper
        while True:
            tasks = self.tasks = await self._begin()
            ready()
            work = asyncio.create_task(tasks.run())
            try:
                await first_of(work, stop.asked.wait(), keeper.drain_requested.wait())
                await self._drain(tasks, work, stop)
                break
            except LeaseLost as lost:
                # Others may hold our work by now: drop all of it, and begin quietly.
                log.warning("lease lost, registering again reason=%s", lost)
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
        if stop.at_once.is_set():
            log.warning("stopped at once; what was held is free when the lease ends")
        else:
            await keeper.leave()

    def explain(self, web_host: str, url: str) -> HostView:
        tasks = self._with_lease()
        return host_view(tasks.frontier, web_host, url, tasks.session.now)

    def queues(self) -> Snapshot:
        return self._with_lease().snapshot()

    def _with_lease(self) -> SessionTasks:
        if self.tasks is None:
            raise WeftError("the URL server has no lease yet")
        return self.tasks

    def _figures(self) -> dict[str, Any]:
        """For people who look from another machine: how much waits, and which spiders cannot be reached."""
        if self.tasks is None:
            return {}
        tasks = self.tasks
        return server_figures(tasks.frontier, tasks.snapshot(most=0), self._resources.tally, tasks.session.now)

    async def _begin(self) -> SessionTasks:
        self._resources.keeper.figures = self._figures
        lease = await self._resources.keeper.register()
        return SessionTasks(LeaseSession.begin(self._resources, lease), self._resolver, self._tell)

    async def _drain(self, tasks: SessionTasks, work: asyncio.Task[None], stop: StopRequest) -> None:
        try:
            await first_of(work, stop.at_once.wait(), tasks.drain(self._resources.settings.urlserver.drain))
        except LeaseLost as lost:
            log.warning("lease lost while draining, there is nothing left to give back reason=%s", lost)

"""The URL server's loop: fill, resolve, send, hear, time out; under one lease after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from weft.addresses.resolver import Resolver
from weft.config.rules import spiders
from weft.errors import LeaseLost, WeftError
from weft.mgmt.values import NodeState, NodeType
from weft.model.fetch_error import FetchError
from weft.urlserver.hearing import Hearing
from weft.urlserver.heart import Heart
from weft.urlserver.life import Life, Means
from weft.urlserver.lookups import Lookups
from weft.urlserver.pending import SpiderId
from weft.urlserver.placing import Placing
from weft.urlserver.snapshot import HostView, Snapshot, SpiderView, host_view, queue_views
from weft.urlserver.spiders import SpiderLine
from weft.urlserver.supplying import Supplying
from weft.wire import Fetch, WireError, encode_request

log = logging.getLogger(__name__)

STATUS_SECONDS: Final = 1.0
IDLE_STATUS_SECONDS: Final = 4.0
MOST_SHOWN: Final = 200
"""Queues in a snapshot."""


class Epoch:
    """The URL server's life under one lease."""

    def __init__(self, life: Life, resolver: Resolver, tell: Callable[[Snapshot], None]) -> None:
        self.life, self.frontier, self._tell = life, life.frontier, tell
        settings = life.means.settings
        self._hearing, self.heart = Hearing(life), Heart(life)
        self._lookups = Lookups(life, resolver, Placing(settings.urlserver))
        addresses = spiders(settings.urlserver.spider_host, settings.urlserver.spider_port)
        self.lines = [
            SpiderLine(SpiderId(number), address, settings.spider.token, self._hearing)
            for number, address in enumerate(addresses)
        ]
        self._supplying = Supplying(life, self._lookups, lambda: any(not line.problem for line in self.lines))

    async def run(self) -> None:
        """Work until cancelled; raises LeaseLost, alone or in a group."""
        works: list[Coroutine[Any, Any, None]] = [line.keep() for line in self.lines]
        works += [self._send(), self._tell_status(), self._supplying.do_errands(), self._supplying.fill()]
        works += [self._hearing.take_returns(), self._lookups.keep(), self.heart.beat(), self.heart.linger()]
        try:
            async with asyncio.TaskGroup() as group:
                for work in works:
                    group.create_task(work)
        finally:
            self._lookups.stop()

    async def drain(self, seconds: float) -> None:
        """Ask nobody any more and wait for what is under way; the rest is given back by leaving."""
        life = self.life
        life.is_draining = True
        await life.call("tell", lambda: life.means.mgmt.tell(life.lease, NodeState.DRAINING))
        try:
            async with asyncio.timeout(seconds):
                while len(self.frontier.pendings) or not self._supplying.is_idle:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            log.warning("URLs in spiders' hands are given back count=%d", len(self.frontier.pendings))

    async def _tell_status(self) -> None:
        while True:
            await asyncio.to_thread(self._tell, self.snapshot())
            # While a spider is missing somebody may be looking for the reason.
            is_quiet = self.frontier.is_empty and not any(line.problem for line in self.lines)
            await asyncio.sleep(IDLE_STATUS_SECONDS if is_quiet else STATUS_SECONDS)

    def snapshot(self, most: int = MOST_SHOWN) -> Snapshot:
        """What the queues look like now."""
        queues, loads = self.frontier.registry.queues, self.frontier.pendings.loads()
        return Snapshot(
            server=self.life.lease.address,
            state=self.life.state,
            queue_count=queues.count,
            queue_len=queues.length,
            concurrent=self.frontier.registry.politeness.host_concurrent,
            taken=queues.taken,
            queued=queues.queued,
            leftovers=queues.leftovers,
            without_queue=len(queues.slotless),
            arriving=queues.arriving,
            spiders=[SpiderView(line.name, loads.get(line.spider, 0), line.problem) for line in self.lines],
            queues=queue_views(self.frontier, self.life.now, most),
        )

    async def _send(self) -> None:
        """The loop: whoever may be asked is asked; then wait for an event or the next moment."""
        life = self.life
        while True:
            life.wake.clear()
            for spider in self._hearing.find_silent():
                self.lines[spider].hang_up()
            self.frontier.registry.forget(life.now)
            if life.may_send:
                self._send_due(life.now)
            self._supplying.look()
            await self._sleep_until(self.frontier.next_moment(may_send=life.may_send))

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
            await self.life.wake.wait()
            return
        seconds = max(0, moment - self.life.now) / 1000
        timer = asyncio.get_running_loop().call_later(seconds, self.life.wake.set)
        try:
            await self.life.wake.wait()
        finally:
            timer.cancel()


class UrlServer:
    def __init__(self, means: Means, resolver: Resolver, tell: Callable[[Snapshot], None]) -> None:
        """`tell` is called in a thread, every second, with what the queues look like."""
        self._means, self._resolver, self._tell = means, resolver, tell
        self.epoch: Epoch | None = None
        """None before the first lease."""

    async def run(self, stop: asyncio.Event, ready: Callable[[], None]) -> None:
        """Work until `stop` is set or the control plane asks for it, then leave: what is held is given back."""
        while True:
            epoch = self.epoch = await self._begin()
            ready()
            work = asyncio.create_task(epoch.run())
            try:
                await self._wait(work, stop, epoch.heart.asked_to_drain)
                await self._leave(epoch, work)
                return
            except* LeaseLost as lost:
                # Others may hold our work by now: begin anew, and quietly.
                log.warning("lease lost, registering again reason=%s", lost.exceptions[0])
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)

    def explain(self, web_host: str, url: str) -> HostView:
        epoch = self.epoch
        if epoch is None:
            raise WeftError("the URL server has no lease yet")
        return host_view(epoch.frontier, web_host, url, epoch.life.now)

    async def _begin(self) -> Epoch:
        means = self._means
        address = means.settings.urlserver.listen
        lease = await means.control.call("register", lambda: means.mgmt.register(NodeType.CRAWLER, address))
        log.info("registered address=%s epoch=%d", address, lease.epoch)
        return Epoch(Life.begin(means, lease), self._resolver, self._tell)

    async def _wait(self, work: asyncio.Task[None], *events: asyncio.Event) -> None:
        """Until one of the events comes, or the work ends, which it only does by an error."""
        waiting = [asyncio.create_task(event.wait()) for event in events]
        try:
            await asyncio.wait([work, *waiting], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if work.done():
            work.result()

    async def _leave(self, epoch: Epoch, work: asyncio.Task[None]) -> None:
        life, seconds = epoch.life, self._means.settings.urlserver.drain
        drain = asyncio.create_task(epoch.drain(seconds))
        await asyncio.wait([work, drain], return_when=asyncio.FIRST_COMPLETED)
        for task in (work, drain):
            task.cancel()
        await asyncio.gather(work, drain, return_exceptions=True)
        await self._means.control.call("tell", lambda: self._means.mgmt.tell(life.lease, NodeState.OFFLINE))
        log.info("left address=%s", life.lease.address)

"""The spider's loop: what is asked is fetched, what is fetched is recorded, what is recorded is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from weft import failpoints
from weft.archive.archive_directory import free_bytes
from weft.archive.archive_errors import ArchiveUnwritable
from weft.archive.archive_writer import ArchiveWriter
from weft.archive.warc_records import LARGE
from weft.clock import Clock, SystemClock
from weft.mgmt.api import SpiderCalls
from weft.mgmt.values import Details, DocId
from weft.model.fetch_error import FetchError
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.spider.fetch_tally import FetchTally
from weft.spider.fetching import Fetcher, Request, Response
from weft.spider.front_desk import DeskOptions, FrontDesk
from weft.spider.gate import GATES, Gate, watch_machine
from weft.spider.orders import FetchOrder, Stage
from weft.spider.recorder import Recorder, RecorderOptions
from weft.spider.request_builder import RequestBuilder, RequestRefused
from weft.spider.response_reader import FetchRecord, ResponseReader, failed

log = logging.getLogger(__name__)

HELD_BYTES: Final = 64 << 20
"""Of fetches that wait for archive and control plane; beyond that no fetch is begun."""

_AFTER_FAULT: Final = 1.0
_LOOK_EVERY: Final = 0.5


@dataclass(frozen=True, slots=True)
class SpiderOptions:
    node: str
    """Address by which other nodes know this one."""
    concurrent: int
    unanswered: int
    working_every: float
    sync_every: float
    min_free: int


@dataclass(frozen=True, slots=True)
class SpiderResources:
    fetcher: Fetcher
    """The spider closes it."""
    requests: RequestBuilder
    reader: ResponseReader
    archive: ArchiveWriter
    control: ControlPlane[SpiderCalls]
    keeper: LeaseKeeper


class Spider:
    """Lives in one event loop. Give its desk to connections, run() it, drain() or not, close() it."""

    def __init__(self, resources: SpiderResources, options: SpiderOptions, clock: Clock | None = None) -> None:
        self.resources, self._options, self._clock = resources, options, clock or SystemClock()
        self._fetcher = resources.fetcher
        self._gate, self._tally = Gate(), FetchTally()
        self._wake = asyncio.Event()
        self._apart: set[asyncio.Task[None]] = set()
        """Large bodies that are being read."""
        self.desk = FrontDesk(
            DeskOptions(options.unanswered, options.working_every), self._gate, self._wake.set, self._give_up
        )
        recording = RecorderOptions(options.node, options.sync_every)
        self._recorder = Recorder(resources.archive, resources.control, recording, self.desk.answer, self._clock)

    async def run(self) -> None:
        """Work until cancelled; raises what must not happen."""
        archive, options = self.resources.archive.path, self._options
        works: tuple[Coroutine[Any, Any, None], ...] = (
            self._admit(),
            self._recorder.run(),
            self.desk.tell_working(),
            self._keep_lease(),
            watch_machine(archive, options.min_free, lambda: self._recorder.problem, self._gate, self.desk.look),
        )
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)

    async def drain(self) -> None:
        """Take nothing new and finish what was begun: returns when all of it is recorded and answered.

        What cannot be recorded, because the archive cannot be written, is given up: it will be asked for again.
        """
        self._gate.close("drain", "it is being stopped")
        self.desk.look()
        for order in self.desk.orders.next_waiting(len(self.desk.orders)):
            self.desk.orders.drop(order)
        await self.resources.keeper.drain()
        while (len(self._fetcher) or len(self._recorder) or self._apart) and not self._recorder.problem:
            self._wake.clear()
            # Nobody wakes us when the archive breaks: look now and then.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK_EVERY)

    def figures(self) -> dict[str, Any]:
        """For people who look from another machine: what it does and did, and why it begins no more."""
        archive = self.resources.archive
        return {
            "fetching": len(self._fetcher),
            "recording": len(self._recorder),
            "waiting": self.desk.orders.waiting,
            "free": self._free(),
            "min_free": self._options.min_free,
            "closed": list(self._gate.reasons.values()),
            "gates": {name: int(name in self._gate.reasons) for name in GATES},
            "archived": archive.stored_bytes,
            **self._tally.facts(),
        }

    def _free(self) -> int:
        try:
            return free_bytes(self.resources.archive.path)
        except ArchiveUnwritable:
            return 0  # the gate says why

    async def _keep_lease(self) -> None:
        """Pause and resume as asked. A lost lease costs nothing: a spider holds no work by it."""
        async for _ in self.resources.keeper.heartbeats(registers_again=True):
            self._gate.set("pause", "it was asked to pause" if self.resources.keeper.is_paused else "")
            self.desk.look()

    async def close(self) -> int:
        """Stop at once, after run() has ended; returns how many results could not be recorded."""
        for task in self._apart:
            task.cancel()
        self._fetcher.close()
        self.desk.close()
        try:
            await self._recorder.close()
        except ArchiveUnwritable as error:
            log.error("%s; the next start finishes its last file", error)
        return len(self._recorder)

    async def _admit(self) -> None:
        """Ask the control plane about what waits, in bulk, and begin."""
        while True:
            orders = self.desk.orders.next_waiting(self._room())
            if not orders:
                await self._wake.wait()
                self._wake.clear()
                continue
            details = await self._details(orders)
            if details is None or not self._gate.is_open:
                self.desk.orders.put_back(orders)
                continue
            self.desk.answer([order for order in orders if not self._is_begun(order, details.get(order.doc_id))])

    async def _details(self, orders: list[FetchOrder]) -> dict[DocId, Details] | None:
        """None: the control plane failed in a way that waiting may mend, or a person."""
        control, doc_ids = self.resources.control, [order.doc_id for order in orders]
        try:
            return await control.call("details", lambda: control.mgmt.details(doc_ids))
        except Exception:
            log.exception("details of %d links cannot be had", len(orders))
            await asyncio.sleep(_AFTER_FAULT)
            return None

    def _room(self) -> int:
        may_begin = self._gate.is_open and self.resources.keeper.asked is not None
        if not may_begin or self._recorder.held_bytes > HELD_BYTES:
            return 0
        return self._options.concurrent - len(self._fetcher)

    def _is_begun(self, order: FetchOrder, details: Details | None) -> bool:
        """Begin a fetch unless there is none to make."""
        if details is None or details.url != order.url:
            log.info("not being crawled, answered without a fetch doc_id=%d url=%s", order.doc_id, order.url)
            return False
        if order.askers:
            self._fetch(order, details)
        return bool(order.askers)

    def _fetch(self, order: FetchOrder, details: Details) -> None:
        started = self._clock.now()
        try:
            request = self.resources.requests.build(order.ip, details)
        except RequestRefused as error:
            log.warning("fetch refused url=%s class=%s reason=%s", order.url, error.error, error)
            self._record(order, failed(details, error.error, started, started))
            return
        try:
            order.fetch = self._fetcher.start(request, partial(self._ended, order, details, request, started))
        except Exception:
            log.exception("fetch could not be begun url=%s", request.url)
            self._record(order, failed(details, FetchError.INTERNAL, started, started))
        else:
            order.stage = Stage.FETCHING

    def _ended(self, order: FetchOrder, details: Details, request: Request, started: int, response: Response) -> None:
        failpoints.point("spider.fetched")
        if response.error is not None:
            log.debug("fetch ended url=%s class=%s detail=%s", order.url, response.error, response.detail)
        order.stage, order.fetch = Stage.ENDED, None
        self._tally.received += len(response.head) + len(response.body)
        if response.error is FetchError.NO_SOCKET:
            self._try_again(order)
            return
        if response.error is FetchError.LOST:
            # Without a result the link is the URL server's again, which knows when its host may be asked.
            self._tally.lose()
            self.desk.answer([order])
            return
        read = partial(self._read, details, request, response, started, self._clock.now())
        if len(response.body) <= LARGE:
            self._record(order, read())
        else:
            task = asyncio.get_running_loop().create_task(self._read_apart(order, read))
            self._apart.add(task)
            task.add_done_callback(self._apart.discard)

    def _try_again(self, order: FetchOrder) -> None:
        """Nobody was asked, and no site is to blame: the order waits until connections can be opened."""
        order.stage = Stage.WAITING
        self.desk.orders.put_back([order])
        self._gate.close("sockets", "no more connections can be opened")
        self.desk.look()

    async def _read_apart(self, order: FetchOrder, read: Callable[[], FetchRecord]) -> None:
        """A large body takes so long to decode that others would wait for it."""
        self._record(order, await asyncio.to_thread(read))

    def _read(self, details: Details, request: Request, response: Response, started: int, ended: int) -> FetchRecord:
        try:
            return self.resources.reader.read(details, request, response, started, ended)
        except Exception:
            # One page must not hold up all others, whatever it did to us.
            log.exception("response could not be read url=%s", request.url)
            return failed(details, FetchError.INTERNAL, started, ended)

    def _record(self, order: FetchOrder, fetched: FetchRecord) -> None:
        order.stage = Stage.ENDED
        self._tally.add(fetched.result)
        self._recorder.add(order, fetched)
        self._wake.set()

    def _give_up(self, orders: list[FetchOrder]) -> None:
        """Nobody waits for these any more; what has ended is recorded all the same."""
        for order in orders:
            if order.fetch is not None:
                self._fetcher.abort(order.fetch)
                order.fetch = None
                self.desk.orders.drop(order)
        self._wake.set()

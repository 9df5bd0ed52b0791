"""From fetches to DONE: archived and synced, then reported, then answered, a group at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from weft import failpoints
from weft.archive.archive_errors import ArchiveUnwritable
from weft.archive.archive_writer import ArchiveWriter
from weft.archive.cdxj import RecordPosition
from weft.archive.warc_file import WarcFile
from weft.archive.warc_records import LARGE, Exchange, RenderedRecords
from weft.clock import Clock
from weft.mgmt.api import SpiderCalls
from weft.mgmt.values import Result, WarcPosition
from weft.roles.calls import CallThread, ControlPlane
from weft.spider.orders import FetchOrder
from weft.spider.response_reader import FetchRecord

log = logging.getLogger(__name__)

_MOST: Final = 1000
"""Results in one group: one transaction of the control plane."""
_RETRY: Final = 1.0


class HeldRecord(NamedTuple):
    order: FetchOrder
    result: Result
    record: RenderedRecords | Exchange | None
    size: int
    """Bytes that it holds in memory."""


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    node: str
    """Our address, by which others ask for records."""
    sync_every: float


class Recorder:
    """Nothing is answered that would not survive a power cut."""

    def __init__(
        self,
        archive: ArchiveWriter,
        control: ControlPlane[SpiderCalls],
        options: RecorderOptions,
        answered: Callable[[list[FetchOrder]], None],
        clock: Clock,
    ) -> None:
        self._archive, self._control, self._options, self._answered = archive, control, options, answered
        self._clock = clock
        """The one that the results' times were taken from."""
        self._thread = CallThread("weft-archive")
        self._found: deque[HeldRecord] = deque()
        self._has_some = asyncio.Event()
        self._held: list[HeldRecord] = []
        self._added = self._reported = 0
        self._rolled: deque[tuple[int, WarcFile]] = deque()
        """Complete files, and how many results must be reported before they may be pruned."""
        self.held_bytes = 0
        self.problem = ""
        """Why the archive cannot be written; empty: it can."""

    def __len__(self) -> int:
        """Fetches that are not answered yet."""
        return len(self._found) + len(self._held)

    def add(self, order: FetchOrder, fetched: FetchRecord) -> None:
        record: RenderedRecords | Exchange | None = fetched.exchange
        size = 0
        if fetched.exchange is not None and len(fetched.exchange.body) <= LARGE:
            # On this thread: another one would have to be given the interpreter for each of a dozen short steps.
            record = self._archive.render(fetched.exchange)
            size = len(fetched.exchange.body)
        self.held_bytes += size
        self._added += 1
        self._found.append(HeldRecord(order, fetched.result, record, size))
        self._has_some.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._has_some.wait()
            self._held = [self._found.popleft() for _ in range(min(_MOST, len(self._found)))]
            if not self._found:
                self._has_some.clear()
            results = await self._store(self._held)
            failpoints.point("spider.synced")
            await self._report(results)
            failpoints.point("spider.reported")
            done, self._held = self._held, []
            self.held_bytes -= sum(found.size for found in done)
            self._answered([found.order for found in done])
            self._reported += len(done)
            self._release_files()
            await asyncio.sleep(self._options.sync_every)

    async def close(self) -> None:
        """Finish the current file. What is not reported by now never will be."""
        for _, file in self._rolled:
            file.release()
        self._rolled.clear()
        await self._thread.do(self._archive.close)
        self._thread.stop()

    def _release_files(self) -> None:
        """Whatever was added until a file was complete may lie in it, or repeat a record of it."""
        self._rolled += [(self._added, file) for file in self._archive.take_rolled()]
        while self._rolled and self._rolled[0][0] <= self._reported:
            self._rolled.popleft()[1].release()

    async def _store(self, held: list[HeldRecord]) -> list[Result]:
        records = [found.record for found in held if found.record is not None]
        positions = iter(await self._until_written(records) if records else ())
        return [found.result if found.record is None else self._placed(found.result, next(positions)) for found in held]

    async def _until_written(self, records: list[RenderedRecords | Exchange]) -> list[RecordPosition]:
        while True:
            try:
                positions = await self._thread.do(lambda: self._archive.store(records))
            except ArchiveUnwritable as error:
                if not self.problem:
                    log.error("%s; no more is fetched until it can, %d results wait", error, len(records))
                self.problem = str(error)
                await asyncio.sleep(_RETRY)
            else:
                if self.problem:
                    log.warning("archive can be written again")
                self.problem = ""
                return positions

    async def _report(self, results: list[Result]) -> None:
        """One result that the control plane cannot take must not hold up all others."""
        try:
            await self._control.call("report", lambda: self._control.mgmt.report(results, self._clock))
        except Exception as error:
            if len(results) == 1:
                # It is answered without a stored result: the URL server will count it as a loss.
                log.exception("result refused doc_id=%d", results[0].doc_id)
                return
            log.warning("a group of results is refused, reported one by one reason=%s", error)
            for result in results:
                await self._report([result])

    def _placed(self, result: Result, position: RecordPosition) -> Result:
        place = WarcPosition(self._options.node, position.file, position.offset, position.length)
        return msgspec.structs.replace(result, position=place)

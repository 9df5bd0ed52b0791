"""The server: every address, every site, one log."""

from __future__ import annotations

import asyncio
import logging
import socket
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

from weft.demo.web.answering.responses import DemoRequest, DemoResponse, whole
from weft.demo.web.answering.web import CACHE_BYTES, Web
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.state import Change
from weft.demo.web.definition.world import World
from weft.demo.web.log import LogError, LogWriter, RequestLine, WebLine
from weft.demo.web.server.authority import Authority
from weft.demo.web.server.connection import Connection
from weft.demo.web.server.control import ControlSite
from weft.demo.web.server.listening import BACKLOG, listen, listen_for

log = logging.getLogger(__name__)

_FLUSH_AFTER: Final = 0.1
_SWEEP_EVERY: Final = 15.0
_IDLE: Final = 75.0


class _Door:
    def __init__(
        self,
        answer: Callable[[DemoRequest], DemoResponse],
        record: Callable[[RequestLine], None],
        number: Callable[[], int],
        *,
        is_secure: bool = False,
    ) -> None:
        self.answer, self.record, self.number, self.is_secure = answer, record, number, is_secure
        self.connections: set[Connection] = set()


class WebServer:
    """`start` makes it listen, `stop` ends it; between, it runs in the event loop. `failed` ends if the log fails."""

    def __init__(self, plan: WebPlan, log: Path | None = None, cache_bytes: int = CACHE_BYTES) -> None:
        self.plan, self._cache_bytes = plan, cache_bytes
        self._log = LogWriter(log, self._flush_soon) if log else None
        self._servers: list[asyncio.Server] = []
        self._doors: list[_Door] = []
        self._sweeper: asyncio.TimerHandle | None = None
        self._certificates: tempfile.TemporaryDirectory[str] | None = None
        self._requests = 0
        self._numbers = count(1)
        self.ca_file: Path | None = None
        self.control_port = 0

    async def start(self) -> WebPlan:
        """Listen; returns the plan with the ports that were found."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        authority = self._make_authority() if self.plan.tls else None
        plain, secure, self.plan = listen_for(self.plan)
        self._web = Web(self.plan, cache_bytes=self._cache_bytes)
        if self._log:
            self._log.add(WebLine(self.plan, time.time(), time.monotonic()))
            self._log.flush()
        await self._open(self._door(is_secure=False), plain)
        if secure:
            await self._open(self._door(is_secure=True), secure, authority)
        control, self.control_port = listen(["127.0.0.1"], 0)
        await self._open(_Door(ControlSite(self).answer, lambda _: None, lambda: 0), control)
        self._sweep()
        return self.plan

    def _door(self, *, is_secure: bool) -> _Door:
        return _Door(self._answer, self._record, self._numbers.__next__, is_secure=is_secure)

    def _answer(self, request: DemoRequest) -> DemoResponse:
        try:
            return self._web.answer(request)
        except Exception:
            # A site may be anybody's; whatever it does, its request belongs in the log.
            log.exception("site failed host=%s target=%s", request.host, request.target)
            return whole(PageKind.UNKNOWN, 500, [("Content-Type", "text/plain")], b"This site has a fault.\n")

    def _make_authority(self) -> Authority:
        self._certificates = tempfile.TemporaryDirectory(prefix="weft-demo-ca-")
        authority = Authority(Path(self._certificates.name))
        self.ca_file = authority.file
        return authority

    async def _open(self, door: _Door, sockets: list[socket.socket], authority: Authority | None = None) -> None:
        self._doors.append(door)
        context = authority.server_context(lambda name: self._web.site(name) is not None) if authority else None
        loop = asyncio.get_running_loop()
        for opened in sockets:
            made = await loop.create_server(lambda: Connection(door), sock=opened, ssl=context, backlog=BACKLOG)
            self._servers.append(made)

    @property
    def world(self) -> World:
        return self._web.world

    def apply(self, change: Change) -> None:
        """Make a change and note it in the log, where the judge finds it."""
        self._web.apply(change)
        if self._log:
            self._log.add(change)

    def count(self) -> int:
        return self._requests

    def _record(self, line: RequestLine) -> None:
        self._requests += 1
        if self._log:
            try:
                self._log.add(line)
            except LogError as error:
                self._fail(error)

    def flush(self) -> None:
        if self._log:
            self._log.flush()

    def _flush_soon(self) -> None:
        asyncio.get_running_loop().call_later(_FLUSH_AFTER, self._flush_now)

    def _flush_now(self) -> None:
        try:
            self.flush()
        except LogError as error:
            self._fail(error)

    def _fail(self, error: LogError) -> None:
        if not self.failed.done():
            self.failed.set_exception(error)

    def _sweep(self) -> None:
        """Close connections that were idle for long."""
        oldest = time.monotonic() - _IDLE
        for door in self._doors:
            for connection in list(door.connections):
                connection.close_if_idle(oldest)
        self._sweeper = asyncio.get_running_loop().call_later(_SWEEP_EVERY, self._sweep)

    async def stop(self) -> None:
        """Listen no more, cut what runs (it is logged as not complete), close the log."""
        if self._sweeper:
            self._sweeper.cancel()
        for server in self._servers:
            server.close()
        for door in self._doors:
            for connection in list(door.connections):
                connection.transport.abort()
        # Connections are told of their end in the loop's next turns.
        for _ in range(3):
            await asyncio.sleep(0)
        if self._log:
            self._log.close()
        if self._certificates:
            self._certificates.cleanup()

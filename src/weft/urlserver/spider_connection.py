"""The connection to a spider: dialled, greeted, read, and dialled again when it is lost."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import Final, Protocol, cast

from weft.roles.listener import joined
from weft.roles.tls_problems import dial_problem
from weft.urlserver.in_flight import SpiderId
from weft.wire import Done, Hello, LineSplitter, TransId, WireError, decode_reply, encode_request

log = logging.getLogger(__name__)

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 10.0
CONNECT_SECONDS: Final = 5.0
PROBATION: Final = 0.2
"""Seconds within which a spider hangs up that does not want us: another token, another version, no spider at all."""


class ReplyListener(Protocol):
    def connected(self, spider: SpiderId) -> None: ...

    def disconnected(self, spider: SpiderId, *, has_replied: bool) -> None: ...

    def replied(self, spider: SpiderId, done: list[TransId], working: list[TransId]) -> None: ...


OnReplies = Callable[[list[TransId], list[TransId]], None]
"""Takes the TRANS_IDs of DONE lines and of WORKING lines."""


class SpiderConnection(asyncio.Protocol):
    def __init__(self, on_replies: OnReplies) -> None:
        self._on_replies = on_replies
        self._lines = LineSplitter()
        self._transport: asyncio.Transport
        self.closed = asyncio.Event()
        self.problem = "it closed the connection"
        self.has_replied = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self.problem = f"the connection broke ({exc})"
        self.closed.set()

    def data_received(self, data: bytes) -> None:
        done: list[TransId] = []
        working: list[TransId] = []
        try:
            for line in self._lines.feed(data):
                reply = decode_reply(line)
                (done if isinstance(reply, Done) else working).append(reply.trans_id)
        except WireError as error:
            self.problem = str(error)
            self.abort()
        if done or working:
            self.has_replied = True
            self._on_replies(done, working)

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def abort(self) -> None:
        self._transport.abort()

    async def is_closed_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.closed.wait()
        except TimeoutError:
            return False
        return True


class SpiderLine:
    """One spider, named by its address, for as long as the URL server lives."""

    def __init__(
        self,
        spider: SpiderId,
        address: tuple[str, int],
        token: str,
        listener: ReplyListener,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.spider = spider
        self.name = joined(*address)
        self.problem = "not dialled yet"
        """Why there is no connection; empty: there is one."""
        self._address, self._token, self._listener, self._tls = address, token, listener, tls
        self._connection: SpiderConnection | None = None

    async def keep(self) -> None:
        """Dial, read and dial again until cancelled."""
        wait = FIRST_WAIT
        while True:
            has_replied = await self._live()
            wait = FIRST_WAIT if has_replied else min(wait * 2, LONGEST_WAIT)
            await asyncio.sleep(wait)

    def write(self, lines: bytes) -> None:
        if self._connection is not None:
            self._connection.write(lines)

    def hang_up(self) -> None:
        """Close at once; the spider stops what it does for us, and is dialled again."""
        if self._connection is not None:
            self._connection.abort()

    async def _live(self) -> bool:
        """One connection from dialling to its end; tells whether the spider ever replied."""
        connection = await self._dial()
        if connection is None:
            return False
        try:
            if await connection.is_closed_within(PROBATION):
                self._note(
                    f"{connection.problem}, at once; expected a spider of this version with the same spider.token"
                    + ("" if self._tls else " and no TLS (tls.ca is not set here)")
                )
                return False
            self._connection, self.problem = connection, ""
            log.info("spider connected spider=%s", self.name)
            self._listener.connected(self.spider)
            await connection.closed.wait()
            self._note(connection.problem)
            self._listener.disconnected(self.spider, has_replied=connection.has_replied)
            return connection.has_replied
        finally:
            self._connection = None
            connection.abort()

    async def _dial(self) -> SpiderConnection | None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(self._make_connection, *self._address, ssl=self._tls)
        except OSError as error:
            problem = dial_problem(error, self._address[0]) if self._tls else ""
            self._note(problem or f"no spider answers ({error.strerror or str(error) or 'timed out'})")
            return None
        if self._token:
            connection.write(encode_request(Hello(self._token)))
        return connection

    def _make_connection(self) -> SpiderConnection:
        return SpiderConnection(lambda done, working: self._listener.replied(self.spider, done, working))

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            log.warning("spider not connected spider=%s reason=%s", self.name, problem)
        self.problem = problem

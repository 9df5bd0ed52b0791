"""A connection to a spider: dialled, greeted, heard, and dialled again when it is lost."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

from weft.urlserver.connection import Connection
from weft.urlserver.pending import SpiderId
from weft.wire import Hello, TransId, encode_request

log = logging.getLogger(__name__)

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 10.0
CONNECT_SECONDS: Final = 5.0
PROBATION: Final = 0.2
"""Seconds within which a spider hangs up that does not want us: another token, another version, no spider at all."""


class Listener(Protocol):
    """Who hears what spiders say."""

    def connected(self, spider: SpiderId) -> None: ...

    def disconnected(self, spider: SpiderId, *, was_heard: bool) -> None: ...

    def heard(self, spider: SpiderId, done: list[TransId], working: list[TransId]) -> None: ...


class SpiderLine:
    """One spider, named by its address, for as long as the URL server lives."""

    def __init__(self, spider: SpiderId, address: tuple[str, int], token: str, listener: Listener) -> None:
        self.spider = spider
        self.name = "{}:{}".format(*address)
        self.problem = "not dialled yet"
        """Why there is no connection; empty: there is one."""
        self._address, self._token, self._listener = address, token, listener
        self._connection: Connection | None = None

    async def keep(self) -> None:
        """Dial, hear and dial again until cancelled."""
        wait = FIRST_WAIT
        while True:
            was_heard = await self._live()
            wait = FIRST_WAIT if was_heard else min(wait * 2, LONGEST_WAIT)
            await asyncio.sleep(wait)

    def write(self, lines: bytes) -> None:
        if self._connection is not None:
            self._connection.write(lines)

    def hang_up(self) -> None:
        """Close at once; the spider stops what it does for us, and is dialled again."""
        if self._connection is not None:
            self._connection.abort()

    async def _live(self) -> bool:
        """One connection from dialling to its end; tells whether the spider ever said anything."""
        connection = await self._dial()
        if connection is None:
            return False
        try:
            if await connection.is_closed_within(PROBATION):
                self._note(
                    f"{connection.problem}, at once; expected a spider of this version with the same spider.token"
                )
                return False
            self._connection, self.problem = connection, ""
            log.info("spider connected spider=%s", self.name)
            self._listener.connected(self.spider)
            await connection.closed.wait()
            self._note(connection.problem)
            self._listener.disconnected(self.spider, was_heard=connection.was_heard)
            return connection.was_heard
        finally:
            self._connection = None
            connection.abort()

    async def _dial(self) -> Connection | None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(self._make_connection, *self._address)
        except OSError as error:
            self._note(f"no spider answers ({error.strerror or error or 'timed out'})")
            return None
        if self._token:
            connection.write(encode_request(Hello(self._token)))
        return connection

    def _make_connection(self) -> Connection:
        return Connection(lambda done, working: self._listener.heard(self.spider, done, working))

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            log.warning("spider not connected spider=%s reason=%s", self.name, problem)
        self.problem = problem

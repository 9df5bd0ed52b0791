"""The socket to a spider: lines out, replies in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from weft.wire import Done, LineSplitter, TransId, WireError, decode_reply

Hear = Callable[[list[TransId], list[TransId]], None]
"""Takes the TRANS_IDs of DONE lines and of WORKING lines."""


class Connection(asyncio.Protocol):
    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._lines = LineSplitter()
        self._transport: asyncio.Transport
        self.closed = asyncio.Event()
        self.problem = "it closed the connection"
        self.was_heard = False

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
            self.was_heard = True
            self._hear(done, working)

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

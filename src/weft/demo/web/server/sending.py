"""Sending an answer piece by piece, in time, and no faster than the client reads."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Final

from weft.demo.web.answering.responses import Piece

_AT_ONCE: Final = struct.pack("ii", 1, 0)
_TURN: Final = 256 << 10
"""Bytes after which other connections have their turn, however fast this client reads."""


class Sending:
    """Runs until the pieces end or `stop` is called; `on_end` is called in the first case only."""

    def __init__(self, transport: asyncio.Transport, pieces: Iterator[Piece], on_end: Callable[[], None]) -> None:
        self._transport, self._pieces, self._on_end = transport, pieces, on_end
        self._timer: asyncio.Handle | None = None
        self._ready: bytes | None = None
        self._is_paused = False
        self.sent = 0
        self.last_write = time.monotonic()

    def go_on(self) -> None:
        """Send what is due; return when something is waited for."""
        room = _TURN
        while not self._is_paused and not self._transport.is_closing():
            if self._ready is not None:
                self.last_write = time.monotonic()
                self._transport.write(self._ready)
                self.sent += len(self._ready)
                room -= len(self._ready)
                self._ready = None
            pause, data = next(self._pieces, (-1.0, b""))
            if pause < 0:
                self._on_end()
                return
            self._ready = data
            if pause or room < 0:
                self._timer = asyncio.get_running_loop().call_later(pause, self._due)
                return

    def _due(self) -> None:
        self._timer = None
        self.go_on()

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        if self._timer is None:
            self.go_on()

    def stop(self) -> None:
        self._is_paused = True
        if self._timer is not None:
            self._timer.cancel()


def reset(transport: asyncio.Transport) -> None:
    """Close so that the client sees a reset, not an end."""
    peer: socket.socket | None = transport.get_extra_info("socket")
    if peer is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()

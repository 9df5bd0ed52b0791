"""A connection to a URL server: lines in, lines out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol, cast

from weft.config.text import HIDDEN
from weft.spider.records_http import BEGINNING, RecordsProtocol
from weft.wire import Done, Fetch, LineSplitter, TransId, WireError, Working, decode_request, encode_reply

log = logging.getLogger(__name__)

GREETING_SECONDS: Final = 10.0
_UNREAD: Final = 1 << 20
"""Bytes of answers that a URL server may leave unread; then it is not alive."""


class FetchTaker(Protocol):
    """Takes the lines of all connections."""

    def connected(self, connection: UrlServerConnection) -> None: ...

    def asked(self, connection: UrlServerConnection, fetches: list[Fetch]) -> None: ...

    def closed(self, connection: UrlServerConnection) -> None: ...


class UrlServerConnection(asyncio.Protocol):
    def __init__(self, desk: FetchTaker, token: str, records: Callable[[], RecordsProtocol]) -> None:
        self._desk, self._token, self._records = desk, token, records
        self._lines = LineSplitter()
        self._beginning: bytes | None = b""
        self._is_known = not token
        self._answers: list[bytes] = []
        self._transport: asyncio.Transport
        self._greeting: asyncio.TimerHandle | None = None
        self.peer = "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.peer = "{}:{}".format(*(transport.get_extra_info("peername") or ("?", 0))[:2])
        self._transport.set_write_buffer_limits(high=_UNREAD)
        if self._token:
            self._greeting = asyncio.get_running_loop().call_later(
                GREETING_SECONDS, self._give_up, "sent no HELLO in time"
            )

    def data_received(self, data: bytes) -> None:
        if self._beginning is not None:
            data = self._beginning + data
            if BEGINNING.startswith(data[: len(BEGINNING)]) and len(data) < len(BEGINNING):
                self._beginning = data
                return
            self._beginning = None
            if data.startswith(BEGINNING):
                self._become_records(data)
                return
            # Not earlier: while no URLs are read, records are.
            self._desk.connected(self)
        self._read(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._desk.closed(self)

    def pause_writing(self) -> None:
        self._give_up("does not read its answers")

    def pause(self) -> None:
        """Read no more lines for now."""
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def done(self, trans_id: TransId) -> None:
        self._answers.append(encode_reply(Done(trans_id)))

    def working(self, trans_id: TransId) -> None:
        self._answers.append(encode_reply(Working(trans_id)))

    def send(self) -> None:
        """Send the answers collected so far, as one piece."""
        if self._answers and not self._transport.is_closing():
            self._transport.write(b"".join(self._answers))
        self._answers.clear()

    def close(self) -> None:
        self.send()
        self._transport.close()

    def _read(self, data: bytes) -> None:
        fetches: list[Fetch] = []
        try:
            for line in self._lines.feed(data):
                self._take(line, fetches)
        except WireError as error:
            # A line that is nearly a HELLO may hold the token.
            self._give_up(str(error).replace(self._token, HIDDEN) if self._token else str(error))
        if fetches:
            self._desk.asked(self, fetches)

    def _take(self, line: bytes, fetches: list[Fetch]) -> None:
        message = decode_request(line)
        if isinstance(message, Fetch) and self._is_known:
            fetches.append(message)
        elif isinstance(message, Fetch):
            raise WireError("the first line is no HELLO; this spider wants a token")
        elif not self._token:
            raise WireError("HELLO with a token; this spider has none (spider.token)")
        elif self._is_known or not message.is_for(self._token):
            raise WireError("HELLO with a wrong token" if not self._is_known else "HELLO a second time")
        else:
            self._is_known = True
            self._stop_waiting()

    def _become_records(self, data: bytes) -> None:
        self._stop_waiting()
        self._records().take_over(self._transport, data)

    def _give_up(self, reason: str) -> None:
        log.warning("connection closed peer=%s reason=%s", self.peer, reason)
        self._transport.abort()

    def _stop_waiting(self) -> None:
        if self._greeting is not None:
            self._greeting.cancel()
            self._greeting = None

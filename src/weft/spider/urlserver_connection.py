"""A connection to a URL server: lines in, lines out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, cast

from weft.config.text import HIDDEN
from weft.roles.connection_limit import ConnectionLimit, Patience
from weft.roles.tls_problems import FIRST_BYTE
from weft.spider.records_http import BEGINNING, RecordsProtocol
from weft.wire import Done, Fetch, LineSplitter, TransId, WireError, Working, decode_request, encode_reply

_UNREAD: Final = 1 << 20
"""Bytes of answers that a URL server may leave unread; then it is not alive."""


class FetchTaker(Protocol):
    """Takes the lines of all connections."""

    def connected(self, connection: UrlServerConnection) -> None: ...

    def asked(self, connection: UrlServerConnection, fetches: list[Fetch]) -> None: ...

    def closed(self, connection: UrlServerConnection) -> None: ...


class UrlServerConnection(asyncio.Protocol):
    """Closed unless its greeting, and every line that it begins, comes in time."""

    def __init__(
        self, desk: FetchTaker, token: str, limit: ConnectionLimit, records: Callable[[], RecordsProtocol]
    ) -> None:
        self._desk, self._token, self._limit, self._records = desk, token, limit, records
        self._lines = LineSplitter()
        self._beginning: bytes | None = b""
        self._is_known = not token
        self._has_left = False
        self._answers: list[bytes] = []
        self._transport: asyncio.Transport
        self._patience = Patience(lambda: self.turn_away("sent no HELLO, or the beginning of a line alone, in time"))
        self._is_paused = False
        self.peer = "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.peer = "{}:{}".format(*(transport.get_extra_info("peername") or ("?", 0))[:2])
        self._transport.set_write_buffer_limits(high=_UNREAD)
        self._set_patience()
        self._limit.arrived(self, self.peer.rpartition(":")[0])

    def data_received(self, data: bytes) -> None:
        self._take_data(data)
        self._set_patience()

    def _take_data(self, data: bytes) -> None:
        if self._beginning is not None:
            data = self._beginning + data
            if BEGINNING.startswith(data[: len(BEGINNING)]) and len(data) < len(BEGINNING):
                self._beginning = data
                return
            self._beginning = None
            if data.startswith(BEGINNING):
                self._become_records(data)
                return
            if data.startswith(FIRST_BYTE):
                self.turn_away("it speaks TLS, and this port does not (tls.certificate is not set here)")
                return
            # Not earlier: while no URLs are read, records are.
            self._desk.connected(self)
        self._read(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        self._desk.closed(self)

    def pause_writing(self) -> None:
        self.turn_away("does not read its answers")

    def pause(self) -> None:
        """Read no more lines for now."""
        if not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()
            self._set_patience()

    def resume(self) -> None:
        if not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()
            self._set_patience()

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
            self.turn_away(str(error).replace(self._token, HIDDEN) if self._token else str(error))
        if fetches:
            self._desk.asked(self, fetches)

    def _take(self, line: bytes, fetches: list[Fetch]) -> None:
        message = decode_request(line)
        if isinstance(message, Fetch) and self._is_known:
            fetches.append(message)
            self._limit.trusted(self)
        elif isinstance(message, Fetch):
            raise WireError("the first line is no HELLO; this spider wants a token")
        elif not self._token:
            raise WireError("HELLO with a token; this spider has none (spider.token)")
        elif self._is_known or not message.is_for(self._token):
            raise WireError("HELLO with a wrong token" if not self._is_known else "HELLO a second time")
        else:
            self._is_known = True
            self._limit.trusted(self)

    def _become_records(self, data: bytes) -> None:
        self._leave()
        self._records().take_over(self._transport, data)

    def turn_away(self, reason: str) -> None:
        self._limit.tell(self, self.peer, reason)
        self._leave()
        self._transport.abort()

    def _set_patience(self) -> None:
        # While no lines are read, none can end.
        is_waiting = not self._is_known or self._lines.is_begun or bool(self._beginning)
        self._patience.set(is_waiting and not self._is_paused and not self._has_left)

    def _leave(self) -> None:
        self._has_left = True
        self._patience.set(False)
        self._limit.gone(self)

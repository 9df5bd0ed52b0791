"""One connection: requests in, answers out, a line in the log for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Final, Protocol, cast

from weft.demo.web.answering.responses import STATUS_LINES, DemoRequest, DemoResponse, Ending, Piece, whole
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.log import RequestLine
from weft.demo.web.server.parsing import MOST_HEAD, BadRequest, Head, read_head
from weft.demo.web.server.sending import Sending, reset

_AT_ONCE: Final = 256 << 10
"""Answers up to this size are handed to the network whole."""


class Door(Protocol):
    """What connections lead to."""

    is_secure: bool
    connections: set[Connection]

    def number(self) -> int:
        """A number for a new connection."""
        ...

    def answer(self, request: DemoRequest) -> DemoResponse: ...

    def record(self, line: RequestLine) -> None: ...


class Connection(asyncio.Protocol):
    def __init__(self, door: Door) -> None:
        self._door = door
        self._buffer = b""
        self._is_paused = False
        self._current: _Exchange | None = None
        self.touched = time.monotonic()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transports do not derive from asyncio's
        self.number = self._door.number()
        self.client = "{}:{}".format(*transport.get_extra_info("peername")[:2])
        self.address, self.port = transport.get_extra_info("sockname")[:2]
        self._door.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        self._serve()

    def _serve(self) -> None:
        """Answer what has come, one request after the other."""
        while self._buffer and self._current is None and not self._is_paused and not self.transport.is_closing():
            request = self._next_request()
            if request is None:
                return
            self._answer(*request)

    def _next_request(self) -> tuple[DemoRequest, bool] | None:
        """The next request and whether the connection is kept, once it has come whole."""
        end = self._buffer.find(b"\r\n\r\n")
        try:
            if end < 0:
                if len(self._buffer) > MOST_HEAD:
                    raise BadRequest(431)
                return None
            head = read_head(self._buffer[:end])
        except BadRequest as error:
            self._buffer = b""
            self._refuse(error.status)
            return None
        body_at, body_end = end + 4, end + 4 + head.body_length
        if len(self._buffer) < body_end:
            return None
        body, self._buffer = self._buffer[body_at:body_end], self._buffer[body_end:]
        return self._request(head, body), head.is_kept

    def _request(self, head: Head, body: bytes) -> DemoRequest:
        return DemoRequest(head.method, head.host, head.target, head.headers, self._door.is_secure, body)

    def _answer(self, request: DemoRequest, is_kept: bool) -> None:
        exchange = _Exchange(self, self._door, request)
        response = self._door.answer(request)
        if response.pieces is None:
            self._send_whole(exchange, request, response, is_kept)
        else:
            self._send(exchange, response, response.pieces(), response.ending if is_kept else _closing(response.ending))

    def _send_whole(self, exchange: _Exchange, request: DemoRequest, response: DemoResponse, is_kept: bool) -> None:
        rest = response.rest if request.method != "HEAD" else response.rest[: response.body_at]
        begin = STATUS_LINES[response.status] + date_line() + (b"" if is_kept else b"Connection: close\r\n")
        if len(rest) > _AT_ONCE:
            self._send(exchange, response, _cut(begin + rest), Ending.KEEP if is_kept else Ending.CLOSE)
            return
        exchange.end = time.monotonic()
        self.transport.write(begin + rest)
        self._finish(exchange, response, len(begin) + len(rest), Ending.KEEP if is_kept else Ending.CLOSE)

    def _send(self, exchange: _Exchange, response: DemoResponse, pieces: Iterator[Piece], ending: Ending) -> None:
        def on_end() -> None:
            self._current = None
            exchange.end = sending.last_write
            self._finish(exchange, response, sending.sent, ending)
            self._serve()

        sending = Sending(self.transport, pieces, on_end)
        self._current = exchange
        exchange.sending, exchange.response = sending, response
        sending.go_on()

    def _finish(self, exchange: _Exchange, response: DemoResponse, sent: int, ending: Ending) -> None:
        if ending is Ending.RESET:
            reset(self.transport)
        elif ending is Ending.CLOSE:
            self.transport.close()
        exchange.record(response, sent, is_complete=ending is not Ending.RESET)
        self.touched = exchange.end

    def _refuse(self, status: int) -> None:
        answer = whole(PageKind.BAD_REQUEST, status, [("Content-Type", "text/plain")], b"This is no request.\n")
        self._answer_with(answer)

    def _answer_with(self, answer: DemoResponse) -> None:
        exchange = _Exchange(self, self._door, DemoRequest("", "", "", {}, self._door.is_secure))
        self._send_whole(exchange, DemoRequest("", "", "", {}), answer, is_kept=False)

    def pause_writing(self) -> None:
        self._is_paused = True
        if self._current is not None and self._current.sending is not None:
            self._current.sending.pause()

    def resume_writing(self) -> None:
        self._is_paused = False
        if self._current is not None and self._current.sending is not None:
            self._current.sending.resume()
        self._serve()

    def close_if_idle(self, oldest: float) -> None:
        """Close unless something was answered after `oldest`, or is being answered."""
        if self._current is None and self.touched < oldest:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._door.connections.discard(self)
        exchange, self._current = self._current, None
        if exchange is not None and exchange.sending is not None and exchange.response is not None:
            exchange.end = time.monotonic()
            exchange.sending.stop()
            exchange.record(exchange.response, exchange.sending.sent, is_complete=False)


class _Exchange:
    """A request that is being answered.

    `end` is taken before the last bytes are written: a client that has them all has them after `end`, so that none
    which waits from then on can seem too early.
    """

    __slots__ = ("at", "connection", "door", "end", "request", "response", "sending", "start")

    def __init__(self, connection: Connection, door: Door, request: DemoRequest) -> None:
        self.connection, self.door, self.request = connection, door, request
        self.start, self.at = time.monotonic(), time.time()
        self.end = self.start
        self.sending: Sending | None = None
        self.response: DemoResponse | None = None

    def record(self, response: DemoResponse, sent: int, *, is_complete: bool) -> None:
        request, connection = self.request, self.connection
        line = RequestLine(
            connection=connection.number,
            client=connection.client,
            address=connection.address,
            port=connection.port,
            host=request.host,
            method=request.method,
            target=request.target,
            status=response.status,
            sent=sent,
            at=round(self.at, 6),
            start=round(self.start, 6),
            end=round(self.end, 6),
            agent=request.headers.get(b"user-agent", b"").decode("latin-1"),
            kind=response.kind.value,
            page=response.page,
            version=response.version,
            is_conditional=request.is_conditional,
            has_cookie=b"cookie" in request.headers,
            is_complete=is_complete,
            retry_after=round(response.retry_after, 6) if response.retry_after else None,
        )
        self.door.record(line)


def _closing(ending: Ending) -> Ending:
    return Ending.CLOSE if ending is Ending.KEEP else ending


def _cut(data: bytes, size: int = 64 << 10) -> Iterator[Piece]:
    return ((0.0, data[at : at + size]) for at in range(0, len(data), size))


_date: tuple[int, bytes] = (0, b"")


def date_line() -> bytes:
    """The Date header, made once a second."""
    global _date  # noqa: PLW0603 - one clock, one line
    now = int(time.time())
    if _date[0] != now:
        _date = (now, f"Date: {formatdate(now, usegmt=True)}\r\n".encode())
    return _date[1]

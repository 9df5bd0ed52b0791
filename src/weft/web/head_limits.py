"""What uvicorn leaves open: heads are bounded in size, and nobody may take for ever to send or to take something."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from weft.web.error_answers import error_answer
from weft.web.limits import WebLimits
from weft.web.request_tally import RequestTally
from weft.web.security_headers import SECURITY_HEADERS

_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # uvicorn warns of every broken request, as often as somebody likes to send one


class LimitedHttp(HttpToolsProtocol):
    def __init__(self, limits: WebLimits, tally: RequestTally, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limits, self._tally, self.logger = limits, tally, _log
        self.access_log = False  # whatever is set for logs: addresses contain login codes
        self._running: RequestResponseCycle | None = None
        self._is_in_head, self._head_bytes = True, 0
        self._sending: asyncio.TimerHandle | None = None
        """Until then the client has to send the rest of a head or body."""
        self._taking: asyncio.TimerHandle | None = None
        """Until then the client has to take some of its answer."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for(None)
        if self._running is not None:  # uvicorn tells the last one of several requests in a row, which may wait behind
            self._running.disconnected = True
            self._running.message_event.set()
        self.resume_writing()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        if app is not self.app:  # too many connections: uvicorn would answer in its place
            self._tally.refused(503)
            app = _too_many
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.head_bytes + _first_body(data):
                self._refuse(431, f"the head is too long; expected at most {self._limits.head_bytes:,} bytes")
                return
            if self._sending is None:  # empty lines before a request are no beginning of one
                self._wait_for(self._limits.head_seconds)
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait_for(self._limits.head_seconds)

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        self._wait_for(self._limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head, self._head_bytes = True, 0
        self._wait_for(None)
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._taking is None:
            self._taking = self.loop.call_later(self._limits.taking_seconds, self._drop)

    def resume_writing(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is no HTTP request")

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _unsupported_upgrade_warning(self) -> None:
        """What is no web socket is answered as if nobody had asked for one; and then there is nothing more to say."""
        self.cycle.keep_alive = False

    def _refuse(self, status: int, sentence: str) -> None:
        self._tally.refused(status)
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "content-type: text/plain; charset=utf-8"]
        lines += [f"content-length: {len(sentence) + 1}", "connection: close"]
        lines += [f"{name.lower()}: {value}" for name, value in SECURITY_HEADERS.items()]
        self.transport.write("\r\n".join([*lines, "", f"{sentence}\n"]).encode("ascii"))
        self._close()

    def _wait_for(self, seconds: float | None) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        if seconds is not None:
            self._sending = self.loop.call_later(seconds, self._close)

    def _close(self) -> None:
        """What was said before is sent first, for a while."""
        if not self.transport.is_closing():
            self.transport.close()
        if self._taking is None:
            self._taking = self.loop.call_later(self._limits.taking_seconds, self._drop)

    def _drop(self) -> None:
        self.transport.abort()


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {**SECURITY_HEADERS, "Retry-After": "5", "Connection": "close"}
    answer = error_answer(Request(scope), 503, "too many connections are open; ask again in a moment", headers)
    await answer(scope, receive, send)


def _first_body(data: bytes) -> int:
    """Bytes of a body that came along with the end of the head."""
    end = data.find(b"\r\n\r\n")
    return len(data) - end - 4 if end >= 0 else 0

"""A small HTTP/1.1 server for other nodes: one request after the other on a kept connection, bounded in every way."""

from __future__ import annotations

import asyncio
import hmac
from typing import ClassVar, Final, NamedTuple, cast

from weft.roles.connection_limit import ConnectionLimit, Patience
from weft.roles.listener import host_named, is_loopback

_LONGEST_HEAD: Final = 8192
_MOST_AHEAD: Final = 256 << 10
"""Bytes of requests that may come before the first of them is answered."""
_SEND_SECONDS: Final = 60.0
_END: Final = b"\r\n\r\n"
_KEEPS: Final = (200, 404, 410, 503)
"""After these whoever asked may go on: more requests may be under way."""
_STATUS: Final = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    410: "Gone",
    405: "Method Not Allowed",
    411: "Length Required",
    413: "Content Too Large",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class HttpRequest(NamedTuple):
    method: str
    target: str
    """Path and query, as they came."""
    body: bytes = b""


class HttpAnswer(NamedTuple):
    status: int
    body: bytes
    kind: str = "text/plain; charset=utf-8"
    shows_trust: bool = False
    """Whether who got this answer is no stranger any more, where no token tells."""


class _Head(NamedTuple):
    size: int
    """Bytes, with the empty line."""
    method: str
    target: str
    fields: dict[str, str]


class HttpProtocol(asyncio.Protocol):
    """With a token everybody must show it; without one only this machine may ask."""

    most_body: ClassVar[int] = 0
    """Bytes of a request's body."""
    token_of: ClassVar[str] = "node"  # noqa: S105 - whose, not which
    """Whose token is expected, in a sentence."""

    def __init__(self, token: str, limit: ConnectionLimit) -> None:
        self._token, self._limit = token, limit
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._patience = Patience(lambda: self.turn_away("a request did not end in time"))

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """What is answered to somebody who may ask."""
        raise NotImplementedError

    def is_open_to_all(self, method: str, target: str) -> bool:
        """Whether this is answered without a token."""
        return False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._limit.arrived(self, (transport.get_extra_info("peername") or ("?",))[0])

    def take_over(self, transport: asyncio.Transport, begun: bytes) -> None:
        """Go on with a connection whose first bytes have been read."""
        transport.set_protocol(self)
        self.connection_made(transport)
        self.data_received(begun)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _MOST_AHEAD:
            self._close()
        elif self._answering is None and (request := self._next()) is not None:
            self._answering = asyncio.get_running_loop().create_task(self._answer_all(request))
        self._set_patience()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._limit.gone(self)
        self._may_write.set()
        self._set_patience()

    def turn_away(self, reason: str) -> None:
        if self._transport is not None:
            self._limit.tell(self, "{}:{}".format(*self._transport.get_extra_info("peername")[:2]), reason)
            self._transport.abort()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    async def _answer_all(self, first: HttpRequest | HttpAnswer) -> None:
        request: HttpRequest | HttpAnswer | None = first
        try:
            while request is not None and self._transport is not None:
                # Nothing more is looked up for somebody who does not take what he has got.
                async with asyncio.timeout(_SEND_SECONDS):
                    await self._may_write.wait()
                self._send(await self.answer(request) if isinstance(request, HttpRequest) else request)
                request = self._next()
        except TimeoutError:
            self.turn_away("does not read its answers")
        finally:
            self._answering = None
            self._set_patience()

    def _next(self) -> HttpRequest | HttpAnswer | None:
        """The next request, or why it is refused; None: it has not come yet."""
        if self._transport is None or self._transport.is_closing():
            return None
        if self._head is None:
            found = _read_head(self._buffer)
            if not isinstance(found, _Head):
                return found
            if (refused := self._refused(found)) is not None:
                return refused
            self._head = found
            if found.fields.get("expect", "").lower() == "100-continue":
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        head = self._head
        end = head.size + _length(head)
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[head.size : end])
        del self._buffer[:end]
        self._head = None
        return HttpRequest(head.method, head.target, body)

    def _refused(self, head: _Head) -> HttpAnswer | None:
        if self._token:
            given = head.fields.get("authorization", "").removeprefix("Bearer ")
            if hmac.compare_digest(given.encode(), self._token.encode()):
                self._limit.trusted(self)
            elif not self.is_open_to_all(head.method, head.target):
                return _refusal(401, f"expected Authorization: Bearer with the {self.token_of}'s token")
        # Without a token only this machine may ask, and no web page that a browser here shows.
        elif not is_loopback(host_named(head.fields.get("host", ""))):
            return _refusal(421, "expected a loopback address as Host")
        return self._refused_body(head)

    def _refused_body(self, head: _Head) -> HttpAnswer | None:
        written = head.fields.get("content-length", "0")
        if "transfer-encoding" in head.fields:
            return _refusal(411, "expected Content-Length, not Transfer-Encoding")
        if not (written.isascii() and written.isdecimal()):
            return _refusal(400, "Content-Length is no number")
        if len(written) > 18 or int(written) > self.most_body:
            return _refusal(413, f"the body is too large; expected at most {self.most_body} bytes")
        return None

    def _send(self, answer: HttpAnswer) -> None:
        if self._transport is None:
            return
        if answer.shows_trust:
            self._limit.trusted(self)
        keeps = answer.status in _KEEPS
        lines = [
            f"HTTP/1.1 {answer.status} {_STATUS[answer.status]}",
            f"Content-Type: {answer.kind}",
            f"Content-Length: {len(answer.body)}",
            *([] if keeps else ["Connection: close"]),
        ]
        self._transport.write("\r\n".join(lines).encode() + _END + answer.body)
        if not keeps:
            self._close()

    def _set_patience(self) -> None:
        self._patience.set(bool(self._buffer) and self._answering is None and self._transport is not None)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _read_head(buffer: bytearray) -> _Head | HttpAnswer | None:
    end = buffer.find(_END)
    if (len(buffer) if end < 0 else end) > _LONGEST_HEAD:
        return _refusal(431, f"the head is too long; expected at most {_LONGEST_HEAD} bytes")
    if end < 0:
        return None
    first, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ")
    if not version.startswith("HTTP/1.") or not target.startswith("/"):
        return _refusal(400, "expected METHOD /PATH HTTP/1.1")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return _Head(end + len(_END), method, target, fields)


def _length(head: _Head) -> int:
    return int(head.fields.get("content-length", "0"))


def _refusal(status: int, sentence: str) -> HttpAnswer:
    return HttpAnswer(status, f"{sentence}\n".encode())

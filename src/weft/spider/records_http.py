"""`GET /records?file=&offset=&length=`: packed records by position, for builders on other nodes."""

from __future__ import annotations

import asyncio
import hmac
from concurrent.futures import Executor
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from weft.archive.archive_errors import RecordUnreadable
from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import LARGEST
from weft.archive.record_reader import read_member_bytes
from weft.roles.connection_limit import ConnectionLimit, Patience
from weft.roles.listener import is_loopback

BEGINNING: Final = b"GET /"
_LONGEST_HEAD: Final = 8192
_MOST_AHEAD: Final = 256 << 10
"""Bytes of requests that may come before the first of them is answered."""
_MOST_FIELDS: Final = 10
_SEND_SECONDS: Final = 60.0
_STATUS: Final = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 421: "Misdirected Request"}


class RecordsProtocol(asyncio.Protocol):
    """A small HTTP/1.1 server: one request after the other on a kept connection, nothing but this one question."""

    def __init__(self, archive: Path, token: str, limit: ConnectionLimit, readers: Executor) -> None:
        self._archive, self._token, self._limit, self._readers = archive, token, limit, readers
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._patience = Patience(lambda: self.turn_away("the head of a request did not end in time"))

    def take_over(self, transport: asyncio.Transport, begun: bytes) -> None:
        """Go on with a connection whose first bytes have been read."""
        self._transport = transport
        transport.set_protocol(self)
        self._limit.arrived(self, (transport.get_extra_info("peername") or ("?",))[0])
        self.data_received(begun)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _MOST_AHEAD or (b"\r\n\r\n" not in self._buffer and len(self._buffer) > _LONGEST_HEAD):
            self._close()
        elif self._answering is None and b"\r\n\r\n" in self._buffer:
            self._answering = asyncio.get_running_loop().create_task(self._answer_all())
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

    async def _answer_all(self) -> None:
        try:
            while b"\r\n\r\n" in self._buffer and self._transport is not None:
                # Nothing more is read from disk for somebody who does not take what he has got.
                async with asyncio.timeout(_SEND_SECONDS):
                    await self._may_write.wait()
                head, _, rest = bytes(self._buffer).partition(b"\r\n\r\n")
                self._buffer = bytearray(rest)
                status, body = await self._answer(head.decode("latin-1"))
                self._send(status, body)
                # Whoever may ask goes on with his next record: more requests may be under way.
                if status not in (200, 404):
                    self._close()
        except TimeoutError:
            self.turn_away("does not read its records")
        finally:
            self._answering = None
            self._set_patience()

    async def _answer(self, head: str) -> tuple[int, bytes]:
        first, *lines = head.split("\r\n")
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        problem = self._refused(fields)
        if problem is not None:
            return problem
        if self._token:
            self._limit.trusted(self)
        position = _position(first)
        if position is None:
            return 400, b"expected GET /records?file=NAME&offset=NUMBER&length=NUMBER\n"
        loop = asyncio.get_running_loop()
        try:
            member = await loop.run_in_executor(self._readers, read_member_bytes, self._archive, position)
        except RecordUnreadable as error:
            return 404, f"{error}\n".encode()
        # Without a token, whoever knows where a record lies has shown enough.
        self._limit.trusted(self)
        return 200, member

    def _refused(self, fields: dict[str, str]) -> tuple[int, bytes] | None:
        if self._token:
            given = fields.get("authorization", "").removeprefix("Bearer ")
            is_known = hmac.compare_digest(given.encode(), self._token.encode())
            return None if is_known else (401, b"expected Authorization: Bearer with the spider's token\n")
        # Without a token only this machine may ask, and no web page that a browser here shows.
        is_local = _is_local(fields.get("host", ""))
        return None if is_local else (421, b"expected a loopback address as Host\n")

    def _send(self, status: int, body: bytes) -> None:
        if self._transport is None:
            return
        kind = "application/warc" if status == 200 else "text/plain"
        head = f"HTTP/1.1 {status} {_STATUS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)

    def _set_patience(self) -> None:
        self._patience.set(bool(self._buffer) and self._answering is None and self._transport is not None)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _position(first_line: str) -> RecordPosition | None:
    method, _, rest = first_line.partition(" ")
    path, _, query = rest.removesuffix(" HTTP/1.1").partition("?")
    if query.count("&") > _MOST_FIELDS:
        return None
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    numbers = [asked.get(name, "") for name in ("offset", "length")]
    if method != "GET" or path != "/records" or not all(n.isascii() and n.isdecimal() and len(n) < 19 for n in numbers):
        return None
    offset, length = map(int, numbers)
    return RecordPosition(asked.get("file", ""), offset, length) if 0 < length <= LARGEST else None


def _is_local(host: str) -> bool:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return is_loopback(name.strip("[]"))

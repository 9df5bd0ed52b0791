"""A kept connection to a node that hands out its records: requests may be sent ahead of the answers."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from weft.archive.archive_errors import ConnectionBroken, NodeUnreachable, RecordDropped, RecordUnreadable
from weft.archive.cdxj import RecordPosition
from weft.archive.http_message import HttpHead, parse_head

LARGEST: Final = 64 << 20
"""Bytes of one packed record that go over the network."""
_NODE: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s\[\]:/@]+)):(\d{1,5})", re.ASCII)
_RECEIVED: Final = 64 << 10
_LONGEST_HEAD: Final = 8 << 10
_LONGEST_REASON: Final = 4 << 10
_SLOWEST: Final = 64 << 10
"""Bytes a second. A record that comes more slowly is not waited for, so that nobody is kept by single bytes."""
_NOTHING: Final = RecordPosition("nothing.warc.gz", 0, 1)
"""No node has it: one that answers so can be asked."""
_NOT_THERE: Final = (400, 404)
_DROPPED: Final = 410
_WRONG_TOKEN: Final = (401, 421)


@dataclass(frozen=True, slots=True)
class NodeAccess:
    """How nodes are asked for records."""

    token: str = field(default="", repr=False)
    context: Callable[[str], ssl.SSLContext | None] = lambda host: None
    """What a host is dialled with; None: in the clear."""
    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    """How long a node may be silent while it owes an answer."""
    tls_problem: Callable[[OSError, str], str] = lambda error, host: str(error)
    """Why no TLS connection to a host came about, in words; empty: it was not for TLS."""


class RecordConnection:
    """Connects, and shows that the node answers. Not for several threads at once, but for `abort`.

    Whatever a node sends, no more is held than one record of the length that was asked for. Every method raises
    NodeUnreachable if the node cannot be asked; then the connection is of no use any more.
    """

    def __init__(self, node: str, access: NodeAccess) -> None:
        self.node, self._access = node, access
        self._head_end = _fields(node, access.token)
        self._buffer = bytearray()
        self.answers = 0
        """Records that were asked for and came, or were said not to be there."""
        host, port = _host_and_port(node)
        self._tls = access.context(host)
        try:
            self._socket = _connected(host, port, self._tls, access.connect_seconds)
        except OSError as error:
            reason = access.tls_problem(error, host) if self._tls else ""
            raise (NodeUnreachable(node, reason) if reason else self._problem(error, access.connect_seconds)) from error
        try:
            self._check()
        except NodeUnreachable:
            self.close()
            raise

    def ask(self, position: RecordPosition) -> None:
        """Send a request; its answer comes after those to earlier ones."""
        query = urlencode({"file": position.file, "offset": position.offset, "length": position.length})
        try:
            self._socket.settimeout(self._access.read_seconds)
            self._socket.sendall(f"GET /records?{query} HTTP/1.1\r\n{self._head_end}".encode())
        except OSError as error:
            raise self._problem(error, self._access.read_seconds) from error

    def answer(self, position: RecordPosition) -> bytearray:
        """The packed record that was asked for first; RecordUnreadable if the node says that there is none."""
        until = time.monotonic() + self._access.read_seconds + position.length / _SLOWEST
        head = self._head(until)
        size = self._size(head)
        if head.status == 200 and size == position.length:
            member = self._body(size, until)
            self.answers += 1
            return member
        if head.status == 200:
            raise NodeUnreachable(self.node, f"sends {size} bytes where {position.length} were asked for")
        reason = self._body(size, until).decode(errors="replace").strip() if size <= _LONGEST_REASON else ""
        if head.status == _DROPPED and size <= _LONGEST_REASON:
            self.answers += 1
            raise RecordDropped(position.file, position.offset)
        if head.status in _NOT_THERE and size <= _LONGEST_REASON:
            self.answers += 1
            raise RecordUnreadable(self.node, f"{head.status}: {reason}")
        raise NodeUnreachable(self.node, _refusal(head.status, reason))

    def abort(self) -> None:
        """Let whoever waits for this connection in another thread find it broken."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _check(self) -> None:
        """A port that accepts connections may belong to anything, and the token may be wrong."""
        self.ask(_NOTHING)
        try:
            self.answer(_NOTHING)
        except RecordUnreadable:
            self.answers = 0
        except ConnectionBroken as error:
            hint = "" if self._tls else " and no TLS (tls.ca is not set here)"
            raise NodeUnreachable(self.node, f"{error.reason}, at once; expected a spider{hint}") from error

    def _head(self, until: float) -> HttpHead:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > _LONGEST_HEAD:
                raise NodeUnreachable(self.node, "does not answer as a spider does")
            piece = bytearray(_RECEIVED)
            self._buffer += memoryview(piece)[: self._receive(memoryview(piece), until)]
        head = parse_head(bytes(self._buffer[: end + 2]))
        del self._buffer[: end + 4]
        return head

    def _size(self, head: HttpHead) -> int:
        written = head.get("content-length")
        if not head.status or head.transfer_codings or not (written.isascii() and written.isdecimal()):
            raise NodeUnreachable(self.node, "does not answer as a spider does")
        return int(written) if len(written) < 19 else LARGEST + 1

    def _body(self, size: int, until: float) -> bytearray:
        body = bytearray(size)
        view = memoryview(body)
        done = min(size, len(self._buffer))
        view[:done] = memoryview(self._buffer)[:done]
        del self._buffer[:done]
        while done < size:
            done += self._receive(view[done:], until)
        return body

    def _receive(self, into: memoryview, until: float) -> int:
        seconds = min(self._access.read_seconds, until - time.monotonic())
        try:
            self._socket.settimeout(max(seconds, 0.001))
            count = self._socket.recv_into(into)
        except OSError as error:
            raise self._problem(error, self._access.read_seconds) from error
        if not count:
            raise ConnectionBroken(self.node, "closed the connection")
        return count

    def _problem(self, error: OSError, seconds: float) -> NodeUnreachable:
        if isinstance(error, TimeoutError):
            return NodeUnreachable(self.node, f"does not answer within {seconds:g} s")
        if isinstance(error, ssl.SSLEOFError | ConnectionError) and not isinstance(error, ConnectionRefusedError):
            return ConnectionBroken(self.node, "closed the connection")
        if isinstance(error, ssl.SSLError):
            return NodeUnreachable(self.node, f"the encrypted connection failed: {error.reason or error}")
        if isinstance(error, ConnectionRefusedError):
            return NodeUnreachable(self.node, "refuses the connection")
        return NodeUnreachable(self.node, error.strerror or str(error) or type(error).__name__)


def _fields(node: str, token: str) -> str:
    shown = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"Host: {node}\r\n{shown}\r\n"


def _host_and_port(node: str) -> tuple[str, int]:
    found = _NODE.fullmatch(node)
    if found is None or int(found[3]) > 65535:
        raise NodeUnreachable(node, "is not the address of a node: expected host:port")
    return found[1] or found[2], int(found[3])


def _connected(host: str, port: int, tls: ssl.SSLContext | None, seconds: float) -> socket.socket:
    plain = socket.create_connection((host, port), seconds)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return tls.wrap_socket(plain, server_hostname=host) if tls else plain
    except BaseException:
        plain.close()
        raise


def _refusal(status: int, reason: str) -> str:
    if status in _WRONG_TOKEN:
        return f"does not accept our token ({status}): spider.token must be the same on both machines"
    return f"answers {status}{': ' if reason else ''}{reason[:200]}"

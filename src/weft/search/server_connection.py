"""Kept HTTP connections to one index server, for callers that wait."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Lock
from typing import Final

from weft.config import host_and_port
from weft.errors import WeftError
from weft.roles.tls_problems import dial_problem
from weft.search.server_messages import LONGEST_ANSWER

_CONNECT_SECONDS: Final = 2.0
_MOST_KEPT: Final = 8
_LONGEST_REASON: Final = 4096


class ServerSilent(WeftError):  # noqa: N818 - an answer about a server
    """An index server could not be asked, or did not answer."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """How index servers are asked."""

    token: str = field(default="", repr=False)
    context: Callable[[str], ssl.SSLContext | None] = lambda host: None
    """What a host is dialled with; None: in the clear."""


class _Connection(HTTPConnection):
    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        super().__init__(host, port)
        self._tls = tls
        self.is_aborted = False

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock = self._tls.wrap_socket(plain, server_hostname=self.host) if self._tls else plain
        except BaseException:
            plain.close()
            raise

    def allow(self, seconds: float) -> None:
        self.timeout = min(seconds, _CONNECT_SECONDS)
        if self.sock is not None:
            self.sock.settimeout(seconds)

    def abort(self) -> None:
        """Let whoever waits for this connection in another thread find it broken."""
        self.is_aborted = True
        with suppress(OSError, ValueError, AttributeError):
            self.sock.shutdown(socket.SHUT_RDWR)


class Call:
    """One request, which another thread may abort."""

    def __init__(self) -> None:
        self._connection: _Connection | None = None
        self.is_aborted = False

    def uses(self, connection: _Connection) -> None:
        self._connection = connection
        if self.is_aborted:
            raise ServerSilent("aborted")

    def abort(self) -> None:
        self.is_aborted = True
        if self._connection is not None:
            self._connection.abort()


class ServerConnections:
    """Of one server. Several threads may post at a time, each over a connection of its own."""

    def __init__(self, address: str, access: ServerAccess) -> None:
        self.address, self._access = address, access
        self._host, self._port = host_and_port(address)
        self._kept: list[_Connection] = []
        self._lock = Lock()

    def post(self, path: str, body: bytes, seconds: float, call: Call) -> bytes:
        """The body of the answer; raises ServerSilent."""
        end = time.monotonic() + seconds
        kept = self._take()
        if kept is not None:
            try:
                return self._posted(kept, path, body, end, call)
            except TimeoutError as error:
                raise ServerSilent(f"index server {self.address}: does not answer in time") from error
            except (OSError, HTTPException):
                pass  # the server may have closed it meanwhile, as when it was started again
        tls = self._access.context(self._host)
        try:
            return self._posted(_Connection(self._host, self._port, tls), path, body, end, call)
        except (OSError, HTTPException) as error:
            problem = dial_problem(error, self._host) if tls and isinstance(error, OSError) else ""
            raise ServerSilent(f"index server {self.address}: {problem or _problem(error)}") from error

    def close(self) -> None:
        while (kept := self._take()) is not None:
            kept.close()

    def _take(self) -> _Connection | None:
        with self._lock:
            return self._kept.pop() if self._kept else None

    def _posted(self, connection: _Connection, path: str, body: bytes, end: float, call: Call) -> bytes:
        try:
            call.uses(connection)
            connection.allow(max(0.001, end - time.monotonic()))
            if connection.sock is None:
                connection.connect()
                connection.allow(max(0.001, end - time.monotonic()))
            connection.request("POST", path, body, self._fields())
            answer = connection.getresponse()
            length = answer.length
            if length is None or length > (LONGEST_ANSWER if answer.status == 200 else _LONGEST_REASON):
                raise ServerSilent(f"index server {self.address}: does not answer as an index server does")
            content = answer.read()
            if answer.status != 200:
                raise ServerSilent(f"index server {self.address}: {_reason(answer.status, content)}")
            if call.is_aborted:
                raise ServerSilent("aborted")
        except BaseException:
            connection.close()
            raise
        self._keep(connection)
        return content

    def _keep(self, connection: _Connection) -> None:
        with self._lock:
            if len(self._kept) < _MOST_KEPT:
                self._kept.append(connection)
                return
        connection.close()

    def _fields(self) -> dict[str, str]:
        shown = {"Authorization": f"Bearer {self._access.token}"} if self._access.token else {}
        return {"Content-Type": "application/json", **shown}


def _problem(error: OSError | HTTPException) -> str:
    if isinstance(error, TimeoutError):
        return "does not answer in time"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return str(error) or type(error).__name__


def _reason(status: int, content: bytes) -> str:
    if status in (401, 421):
        return f"does not accept our token ({status}): spider.token must be the same on both machines"
    return f"answers {status}: {content.decode(errors='replace').strip()[:200]}"

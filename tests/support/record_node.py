"""Nodes that hold records: real ones that can be stopped and started, and ones that answer in any way."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from weft.roles.connection_limit import ConnectionLimit
from weft.spider.records_http import RecordsProtocol
from weft.spider.urlserver_connection import UrlServerConnection

SOON = 20.0
NO_DESK: Any = None
"""Nobody sends URLs here."""
THE_LOOPS_OWN: Any = None


class RecordNode:
    """A spider's port, as far as records go, in a thread of its own; it can be started again on the same port."""

    def __init__(
        self, archive: Path, token: str = "", host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
    ) -> None:
        self._archive, self.token, self._host, self._tls = archive, token, host, tls
        self._port = 0
        self.connections = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    def start(self) -> None:
        self._is_up, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._is_up.wait(SOON)

    def stop(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(SOON)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stopped = asyncio.Event()
        limit, transports = ConnectionLimit(), list[asyncio.Transport]()

        def made() -> UrlServerConnection:
            self.connections += 1
            return _Kept(transports, NO_DESK, self.token, limit, lambda: self._records(limit))

        loop = asyncio.get_running_loop()
        server = await loop.create_server(made, self._host, self._port, ssl=self._tls, reuse_address=True)
        self._port = server.sockets[0].getsockname()[1]
        self._is_up.set()
        await self._stopped.wait()
        server.close()
        for transport in transports:
            transport.abort()
        await asyncio.sleep(0)

    def _records(self, limit: ConnectionLimit) -> RecordsProtocol:
        return RecordsProtocol(self._archive, self.token, limit, THE_LOOPS_OWN)


class _Kept(UrlServerConnection):
    """Can be aborted whatever it became."""

    def __init__(self, transports: list[asyncio.Transport], *about: Any) -> None:
        super().__init__(*about)
        self._transports = transports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._transports.append(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody at the desk needs to know."""


class RawNode:
    """Accepts connections and has `answer` deal with each, in a thread of its own."""

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for each in [self._listener, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer = self._listener.accept()[0]
                self._open.append(peer)
                threading.Thread(target=self._deal_with, args=[peer], daemon=True).start()

    def _deal_with(self, peer: socket.socket) -> None:
        with suppress(OSError), peer:
            self._answer(peer)


def one_request(peer: socket.socket) -> bytes:
    """The head of the next request; OSError when there is none."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = peer.recv(1)
        if not byte:
            raise ConnectionResetError
        head += byte
    return head


NOT_THERE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def answering(*answers: bytes) -> Callable[[socket.socket], None]:
    """Says that it can be asked, then gives these answers, one to each request, and closes."""

    def answer(peer: socket.socket) -> None:
        for each in (NOT_THERE, *answers):
            one_request(peer)
            peer.sendall(each)

    return answer


def silent(peer: socket.socket) -> None:
    """Says that it can be asked, and then nothing more."""
    answering()(peer)
    while peer.recv(1 << 16):
        pass

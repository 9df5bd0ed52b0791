"""A port that takes connections, with TLS or in the clear."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Final, Protocol

from weft.roles.connection_limit import ConnectionLimit
from weft.roles.tls_problems import accept_problem

log = logging.getLogger(__name__)

HANDSHAKE_SECONDS: Final = 10.0
"""How long a TLS handshake may take."""
_SHUTDOWN_SECONDS: Final = 5.0
"""How long the other side may take to say goodbye."""
_ACCEPT_AGAIN: Final = 1.0

MakeProtocol = Callable[[], asyncio.Protocol]


class OpenPort(Protocol):
    def close(self) -> None:
        """Take no new connections."""


async def open_port(listener: socket.socket, make: MakeProtocol, tls: ssl.SSLContext | None) -> OpenPort:
    """Make a protocol for everybody who connects; with `tls`, for everybody who got through a handshake."""
    if tls is None:
        return await asyncio.get_running_loop().create_server(make, sock=listener)
    return TlsPort(listener, make, tls)


class TlsPort:
    """Belongs to the running loop.

    A server of asyncio does not know a connection before its handshake is over, so strangers could hold any number.
    Here handshakes are counted and timed as connections are.
    """

    def __init__(self, listener: socket.socket, make: MakeProtocol, tls: ssl.SSLContext) -> None:
        listener.setblocking(False)
        self._listener, self._make, self._tls = listener, make, tls
        self._limit = ConnectionLimit()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        self._accepting.cancel()
        for handshake in self._handshakes:
            handshake.cancel()

    async def _accept(self) -> None:
        # Closed here and not in close(): the loop must have let go of it first.
        with self._listener:
            while True:
                try:
                    self._begin(*await asyncio.get_running_loop().sock_accept(self._listener))
                except OSError as error:
                    # One that is gone already, or no more open files: the next one may have better luck.
                    log.warning("a connection could not be accepted: %s", error.strerror or error)
                    await asyncio.sleep(_ACCEPT_AGAIN)

    def _begin(self, connection: socket.socket, peer: tuple[str, int]) -> None:
        task = asyncio.get_running_loop().create_task(self._shake_hands(connection, peer))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _shake_hands(self, connection: socket.socket, peer: tuple[str, int]) -> None:
        visitor = _Handshake(asyncio.current_task(), self._limit, "{}:{}".format(*peer[:2]))
        self._limit.arrived(visitor, peer[0])
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._make,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
            )
        except OSError as error:
            self._limit.tell(visitor, visitor.peer, accept_problem(error))
        finally:
            self._limit.gone(visitor)


class _Handshake:
    """Somebody who has not shown yet that they speak TLS."""

    def __init__(self, task: asyncio.Task[None] | None, limit: ConnectionLimit, peer: str) -> None:
        self._task, self._limit, self.peer = task, limit, peer

    def turn_away(self, reason: str) -> None:
        self._limit.tell(self, self.peer, reason)
        if self._task is not None:
            self._task.cancel()

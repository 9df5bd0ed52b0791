"""Ports for the roles of one run, kept from other users of the machine for as long as it lasts."""

from __future__ import annotations

import socket
from typing import Self


class ReservedPorts:
    """Bound, and not listened on: whoever connects is refused until a role of this user listens there.

    Without them another user could take the port of a role that is starting or restarting, and would be greeted with
    the token of the run. Linux lets only processes of the same user share a port (SO_REUSEPORT, without SO_REUSEADDR).
    """

    def __init__(self, count: int) -> None:
        self._sockets = [_bound() for _ in range(count)]
        self.numbers = [int(one.getsockname()[1]) for one in self._sockets]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for one in self._sockets:
            one.close()


def _bound() -> socket.socket:
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.bind(("127.0.0.1", 0))
    return one

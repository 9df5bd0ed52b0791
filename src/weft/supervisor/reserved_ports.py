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
        self._sockets = [_bound("127.0.0.1", 0) for _ in range(count)]
        self.numbers = [int(one.getsockname()[1]) for one in self._sockets]

    def reserve(self, host: str, port: int) -> int:
        """A port of a certain address, or any free one (0); returns its number. Raises OSError if it is taken."""
        # Sharing is for roles of this run: another weft of the same user would get half of what comes in.
        _bound(host, port, is_shared=False).close()
        self._sockets.append(_bound(host, port))
        return int(self._sockets[-1].getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for one in self._sockets:
            one.close()


def _bound(host: str, port: int, *, is_shared: bool = True) -> socket.socket:
    one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if is_shared:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        else:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a run before may be closing
        one.bind((host, port))
    except OSError:
        one.close()
        raise
    return one

"""Connections that are kept for the next request: whether something came on one that nobody asked for."""

from __future__ import annotations

import select
from typing import Final

LocalAddress = tuple[str, int]
"""Our end of a connection, which no other open connection has."""

_ANYTHING: Final = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL


class KeptConnections:
    """Finds the socket of a kept connection by our end of it. Holds no more entries than sockets were open at once.

    libcurl itself looks only at connections that have been idle for a while.
    """

    def __init__(self) -> None:
        self._sockets: dict[LocalAddress, int] = {}
        self._ends: dict[int, LocalAddress] = {}

    def __len__(self) -> int:
        return len(self._sockets)

    def remember(self, end: LocalAddress, socket: int) -> None:
        # The system uses the number of a closed socket again.
        if (former := self._ends.get(socket)) is not None:
            self._sockets.pop(former, None)
        if (other := self._sockets.get(end)) is not None:
            self._ends.pop(other, None)
        self._sockets[end], self._ends[socket] = socket, end

    def has_unread(self, end: LocalAddress) -> bool:
        """Whether bytes, or the end, have come on a connection whose last response was complete."""
        socket = self._sockets.get(end)
        if socket is None:
            return False
        poll = select.poll()
        poll.register(socket, _ANYTHING)
        return bool(poll.poll(0))

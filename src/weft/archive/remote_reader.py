"""Reads records that lie on other nodes, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from weft.archive.archive_errors import ConnectionBroken, NodeUnreachable, RecordUnreadable
from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import LARGEST, NodeAccess, RecordConnection
from weft.archive.record_reader import ArchivedResponse, response_at

_AWAY_SECONDS: Final = 60.0


class RemoteRecords:
    """Keeps one connection to each node; not for several threads at once.

    A node that cannot be asked is not tried again for a minute: thousands of records may lie there.
    """

    def __init__(self, access: NodeAccess | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._access, self._now = access or NodeAccess(), now
        self._connections: dict[str, RecordConnection] = {}
        self._away: dict[str, tuple[float, NodeUnreachable]] = {}

    def read(self, node: str, position: RecordPosition) -> ArchivedResponse:
        """The response at a position on the node `host:port`; raises RecordUnreadable and NodeUnreachable."""
        return response_at(position, partial(self.member, node))

    def member(self, node: str, position: RecordPosition) -> bytearray:
        """The packed record; raises RecordUnreadable and NodeUnreachable."""
        if not 0 < position.length <= LARGEST:
            raise RecordUnreadable(node, f"a record of {position.length} bytes is not sent")
        until, error = self._away.get(node, (0.0, None))
        if error is not None and self._now() < until:
            raise error
        try:
            return self._asked(node, position)
        except NodeUnreachable as unreachable:
            self._away[node] = (self._now() + _AWAY_SECONDS, unreachable)
            raise

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _asked(self, node: str, position: RecordPosition) -> bytearray:
        kept = self._connections.get(node)
        if kept is not None:
            # The node may have closed it meanwhile, as when it was started again.
            with suppress(ConnectionBroken):
                return self._ask(kept, position)
        connection = self._connections[node] = RecordConnection(node, self._access)
        return self._ask(connection, position)

    def _ask(self, connection: RecordConnection, position: RecordPosition) -> bytearray:
        try:
            connection.ask(position)
            return connection.answer(position)
        except NodeUnreachable:
            connection.close()
            del self._connections[connection.node]
            raise

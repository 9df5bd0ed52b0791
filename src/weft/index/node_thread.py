"""The thread that asks one node for its records, and tries again by itself while the node is away."""

from __future__ import annotations

import logging
import threading
from typing import Final, Protocol

from weft.archive.archive_errors import ConnectionBroken, NodeUnreachable, RecordUnreadable
from weft.archive.record_connection import NodeAccess, RecordConnection
from weft.archive.record_reader import Packed
from weft.index.node_line import NodeLine, WantedRecord

log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 10.0
"""Seconds between two tries of a node that is away."""
_BREAKS: Final = 2
"""Connections in a row that broke before one record was answered: then the node counts as away."""


class NodeDesk(Protocol):
    """Where the thread gets its work, and where it hands over what came of it."""

    def connected(self, line: NodeLine, connection: RecordConnection) -> None: ...

    def next_wanted(self, line: NodeLine) -> WantedRecord | None:
        """What to ask for next; None: take an answer first, or end if none is owed."""
        ...

    def arrived(self, line: NodeLine, member: Packed) -> None:
        """The first request in flight is answered."""
        ...

    def unreadable(self, line: NodeLine, error: RecordUnreadable) -> None:
        """The node has no such record; answers the first request in flight."""
        ...

    def broken(self, line: NodeLine) -> bool:
        """What is in flight is asked for again on the next connection; False: there shall be none."""
        ...

    def went_away(self, line: NodeLine, error: NodeUnreachable, pause: float) -> bool:
        """Nothing can be asked now. Waits for `pause` seconds; False: nobody wants the node any more."""
        ...

    def ended(self, line: NodeLine) -> None: ...


class NodeThread:
    """One connection at a time; requests are sent ahead, so that distance costs little."""

    def __init__(self, line: NodeLine, access: NodeAccess, desk: NodeDesk) -> None:
        self._line, self._access, self._desk = line, access, desk
        self._pause, self._breaks = FIRST_PAUSE, 0

    def start(self) -> None:
        # Nothing can interrupt a connect: such a thread must not keep the process alive.
        threading.Thread(target=self._run, name=f"records of {self._line.node}", daemon=True).start()

    def _run(self) -> None:
        try:
            while self._served():
                pass
        finally:
            self._desk.ended(self._line)

    def _served(self) -> bool:
        try:
            return self._serve()
        except Exception as error:
            log.exception("asking a node for records failed node=%s", self._line.node)
            return self._rest(NodeUnreachable(self._line.node, f"weft failed: {error}"))

    def _serve(self) -> bool:
        """Ask until there is nothing more to ask for (False) or the connection is of no use."""
        try:
            connection = RecordConnection(self._line.node, self._access)
        except NodeUnreachable as error:
            return self._rest(error)
        self._desk.connected(self._line, connection)
        try:
            self._ask_and_take(connection)
        except NodeUnreachable as error:
            return self._lost(connection, error)
        finally:
            connection.close()
        return False

    def _ask_and_take(self, connection: RecordConnection) -> None:
        while True:
            wanted = self._desk.next_wanted(self._line)
            if wanted is not None:
                connection.ask(wanted.position)
            elif self._line.in_flight:
                self._take(connection)
            else:
                return

    def _take(self, connection: RecordConnection) -> None:
        try:
            member = connection.answer(self._line.in_flight[0].position)
        except RecordUnreadable as error:
            self._desk.unreadable(self._line, error)
        else:
            self._desk.arrived(self._line, member)
        self._pause, self._breaks = FIRST_PAUSE, 0

    def _lost(self, connection: RecordConnection, error: NodeUnreachable) -> bool:
        """A node that was started again closes its connections, and answers on new ones."""
        self._breaks += 1
        if isinstance(error, ConnectionBroken) and (connection.answers or self._breaks < _BREAKS):
            return self._desk.broken(self._line)
        return self._rest(error)

    def _rest(self, error: NodeUnreachable) -> bool:
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        return self._desk.went_away(self._line, error, pause)

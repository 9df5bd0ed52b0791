"""Fetches records from other nodes and gives them to the lanes, bounded in bytes; no record is unpacked here.

Each node has a thread of its own, so that nobody waits for one that is away. What is wanted of such a node comes back
as unreachable, at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Final

from weft.archive.archive_errors import NodeUnreachable, RecordUnreadable
from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import LARGEST, NodeAccess, RecordConnection
from weft.archive.record_reader import Packed, earlier_record
from weft.index.node_line import NodeLine, WantedRecord
from weft.index.node_thread import NodeThread
from weft.index.reading_lanes import AskedFetch, ReadingLanes
from weft.index.record_nodes import AwayNode, UnreachableFetch
from weft.mgmt.values import WarcPosition
from weft.model.fetch_error import FetchError

log = logging.getLogger(__name__)

AHEAD_BYTES: Final = 16 << 20
"""Fetched records that may wait to be parsed. Then no more are asked for; what is in flight still comes."""
MOST_NODES: Final = 64
"""Nodes that are connected at a time. Further ones wait until one of these has nothing to do."""
_KEPT_SECONDS: Final = 60.0
"""How long a connection is kept without use."""
_REMEMBERED_SECONDS: Final = 900.0
"""How long a node is tried that is away and that nobody asks for."""


class RecordFetching:
    """What is wanted of all nodes, and what has come. Closed, its threads end."""

    def __init__(
        self, lanes: ReadingLanes, access: NodeAccess, ahead: int = AHEAD_BYTES, most_nodes: int = MOST_NODES
    ) -> None:
        self._lanes, self._access = lanes, access
        self._ahead, self._most_nodes = ahead, most_nodes
        self._lines: dict[str, NodeLine] = {}
        # Taken before the lock of the lanes where both are; again by the same thread where the lanes call back.
        self._changed = threading.Condition(threading.RLock())
        self._held = 0
        """Bytes of records that were fetched and are not parsed."""
        self._large_by: NodeLine | None = None
        """Who is sending a large record: one at a time, so that they are bounded together."""
        self._epoch = 0
        """What was given before the last drop() is of an older one."""
        self._unreachable: list[UnreachableFetch] = []
        self._reachable: list[str] = []
        self._is_closed = False

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            for line in self._lines.values():
                if line.connection is not None:
                    line.connection.abort()
            self._changed.notify_all()

    # For the builder.

    @property
    def coming(self) -> int:
        """Fetches that will be in the lanes soon. Takes no lock: the lanes ask under their own."""
        return sum(line.coming for line in list(self._lines.values()))

    def want(self, wanted: Iterable[tuple[AskedFetch, WarcPosition]]) -> None:
        """Get these records and give them to the lanes."""
        with self._changed:
            for asked, at in wanted:
                self._want(asked, at)
            self._changed.notify_all()

    def drop(self) -> None:
        """Forget all that is wanted, here and in the lanes."""
        with self._changed:
            self._epoch += 1
            for line in self._lines.values():
                # What is in flight is answered all the same.
                self._let_go(line.take_waiting())
            self._unreachable = []
            self._lanes.drop()

    def take_unreachable(self) -> list[UnreachableFetch]:
        with self._changed:
            for line in self._lines.values():
                if line.waiting and line.is_too_slow and line.away_since is None:
                    # What is in flight may still come; then the node is back.
                    self._note_away(line, "is too slow, or cannot be dialled in time")
                    self._turn_back(line, line.take_waiting())
            taken, self._unreachable = self._unreachable, []
            return taken

    def take_reachable(self) -> list[str]:
        with self._changed:
            taken, self._reachable = self._reachable, []
            return taken

    def away(self) -> dict[str, AwayNode]:
        now = time.monotonic()
        with self._changed:
            away = [line for line in self._lines.values() if line.away_since is not None]
            return {line.node: AwayNode(now - (line.away_since or 0.0), line.reason) for line in away}

    def _want(self, asked: AskedFetch, at: WarcPosition) -> None:
        if not 0 < at.length <= LARGEST:
            self._lanes.refuse(asked, FetchError.ARCHIVE)
            return
        line = self._lines.get(at.node) or self._new_line(at.node)
        line.wanted_at = time.monotonic()
        if line.away_since is None:
            line.add(WantedRecord(asked, self._epoch, RecordPosition(at.file, at.offset, at.length)))
        else:
            self._unreachable.append(UnreachableFetch(asked, line.node))

    def _new_line(self, node: str) -> NodeLine:
        line = self._lines[node] = NodeLine(node)
        self._start_threads()
        return line

    def _start_threads(self) -> None:
        free = self._most_nodes - sum(line.has_thread for line in self._lines.values())
        for line in [line for line in self._lines.values() if not line.has_thread][: max(0, free)]:
            line.has_thread = True
            NodeThread(line, self._access, self).start()

    # For the lanes.

    def release(self, size: int) -> None:
        """So many bytes of records are parsed, or nobody wants them any more."""
        with self._changed:
            self._held -= size
            self._changed.notify_all()

    # For the threads.

    def connected(self, line: NodeLine, connection: RecordConnection) -> None:
        with self._changed:
            line.connection = connection
            if not line.was_connected and line.away_since is None:
                self._reachable.append(line.node)
            line.was_connected = True
            self._note_back(line)
            if self._is_closed:
                connection.abort()

    def _note_away(self, line: NodeLine, reason: str) -> None:
        if line.away_since is None and not self._is_closed:
            log.warning("node is away, its records wait node=%s reason=%s", line.node, reason)
        line.away_since, line.reason = line.away_since or time.monotonic(), reason

    def _note_back(self, line: NodeLine) -> None:
        if line.away_since is not None:
            log.warning("node is back node=%s after=%.0fs", line.node, time.monotonic() - line.away_since)
            self._reachable.append(line.node)
        line.away_since, line.reason = None, ""

    def next_wanted(self, line: NodeLine) -> WantedRecord | None:
        with self._changed:
            while (found := self._may_ask(line)) is None and not (line.in_flight or self._is_done(line)):
                has_changed = self._changed.wait_for(lambda: self._may_ask(line) or self._is_done(line), _KEPT_SECONDS)
                if not (has_changed or line.waiting):
                    return None
            if found is not None:
                self._send(line, found)
            return found

    def _send(self, line: NodeLine, wanted: WantedRecord) -> None:
        if wanted.is_large:
            self._large_by = line
        next(queue for queue in line.queues() if queue[0] is wanted).popleft()
        line.sent(wanted)

    def _may_ask(self, line: NodeLine) -> WantedRecord | None:
        if self._is_closed or not line.has_room:
            return None
        for queue in line.queues():
            wanted = queue[0]
            is_free = not wanted.is_large or self._large_by is None
            # What a record in memory waits for is never held up by what is in memory.
            if is_free and (wanted.member is not None or self._held < self._ahead):
                return wanted
        return None

    def _is_done(self, line: NodeLine) -> bool:
        """Whether its thread is of more use elsewhere."""
        has_others = any(not other.has_thread for other in self._lines.values())
        return self._is_closed or (has_others and not line.waiting)

    def arrived(self, line: NodeLine, member: Packed) -> None:
        with self._changed:
            wanted = self._answered(line)
            if wanted.epoch != self._epoch or self._is_closed:
                self._let_go([wanted])
                return
            earlier = earlier_record(member) if wanted.member is None else None
            if earlier is None:
                self._held += len(member)
                members = (member,) if wanted.member is None else (wanted.member, member)
                self._lanes.give([wanted.asked._replace(members=members)])
            elif 0 < earlier.length <= LARGEST:
                self._held += len(member)
                line.first.append(WantedRecord(wanted.asked, wanted.epoch, earlier, member))
            else:
                self._lanes.refuse(wanted.asked, FetchError.ARCHIVE)

    def unreadable(self, line: NodeLine, error: RecordUnreadable) -> None:
        with self._changed:
            wanted = self._answered(line)
            self._let_go([wanted])
            if wanted.epoch == self._epoch:
                log.info("record cannot be read url=%s reason=%s", wanted.asked.link.url, error)
                self._lanes.refuse(wanted.asked, FetchError.ARCHIVE)

    def _answered(self, line: NodeLine) -> WantedRecord:
        line.moved()
        self._note_back(line)
        wanted = line.in_flight.popleft()
        if wanted.is_large:
            self._free_large(line)
        return wanted

    def _let_go(self, wanted: Iterable[WantedRecord]) -> None:
        self.release(sum(len(each.member or b"") for each in wanted))

    def _free_large(self, line: NodeLine) -> None:
        if self._large_by is line:
            self._large_by = None
            self._changed.notify_all()

    def broken(self, line: NodeLine) -> bool:
        with self._changed:
            line.connection = None
            line.put_back()
            self._free_large(line)
            return not self._is_closed

    def went_away(self, line: NodeLine, error: NodeUnreachable, pause: float) -> bool:
        with self._changed:
            line.connection = None
            self._note_away(line, error.reason)
            self._turn_back(line, line.take_all())
            self._free_large(line)
            self._changed.wait_for(lambda: self._is_done(line), pause)
            is_forgotten = time.monotonic() - line.wanted_at > _REMEMBERED_SECONDS
            return not (self._is_done(line) or is_forgotten)

    def _turn_back(self, line: NodeLine, wanted: Sequence[WantedRecord]) -> None:
        """These cannot be reached."""
        self._unreachable += [UnreachableFetch(each.asked, line.node) for each in wanted if each.epoch == self._epoch]
        self._let_go(wanted)

    def ended(self, line: NodeLine) -> None:
        with self._changed:
            line.connection, line.has_thread = None, False
            self._free_large(line)
            if not line.waiting:
                del self._lines[line.node]
            if not self._is_closed:
                self._start_threads()

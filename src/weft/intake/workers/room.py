"""Room for answers that nobody took yet: bounded, and the oldest question always gets on."""

from __future__ import annotations

import threading


class Room:
    """While the answers that wait are `most` bytes or more, only the question that is taken next is worked on."""

    def __init__(self, most: int) -> None:
        self._most, self._next, self._is_open = most, 0, False
        self._held: dict[int, int] = {}
        self._changed = threading.Condition()

    def wait(self, turn: int) -> None:
        """Until there is room, or question number `turn` is the next one to be taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or turn == self._next or sum(self._held.values()) < self._most)

    def hold(self, turn: int, size: int) -> None:
        with self._changed:
            self._held[turn] = size

    def taken(self) -> None:
        """The next answer left, or will never come."""
        with self._changed:
            self._held.pop(self._next, None)
            self._next += 1
            self._changed.notify_all()

    def open(self) -> None:
        """Hold up nobody any more."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

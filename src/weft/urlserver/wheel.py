"""Things that wait for a moment: adding and taking cost the same however many wait."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class Wheel(Generic[T]):
    """One list per millisecond at which anything is due, and a heap of those milliseconds alone."""

    __slots__ = ("_lists", "_moments", "_open")

    def __init__(self) -> None:
        self._lists: dict[int, list[T]] = {}
        self._moments: list[int] = []
        self._open: list[T] = []

    def add(self, at: int, item: T) -> None:
        waiting = self._lists.get(at)
        if waiting is None:
            self._lists[at] = [item]
            heappush(self._moments, at)
        else:
            waiting.append(item)

    def take(self, now: int) -> T | None:
        """The next thing that is due, in the order of its moment, then of its arrival."""
        if not self._open:
            if not self._moments or self._moments[0] > now:
                return None
            self._open = self._lists.pop(heappop(self._moments))
            self._open.reverse()
        return self._open.pop()

    def next_moment(self) -> int | None:
        """When something is due; 0: at once."""
        if self._open:
            return 0
        return self._moments[0] if self._moments else None

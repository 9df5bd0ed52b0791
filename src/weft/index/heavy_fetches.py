"""Fetches that take long to load: which they are, whose turn it is, and how much of the builder's time they get.

A page may name tens of thousands of links; it takes the time of hundreds of ordinary ones, and nothing of it can be
loaded apart from the rest. So heavy fetches wait apart from the others, for all domains together: whoever has many
domains has no larger share. Among them, domains take turns.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final, Generic, TypeVar

HEAVY: Final = 256 << 10
"""Bytes of a fetch that was read, from which on it is heavy: about 2,000 links, or a tenth of a second to load."""
WAITING_MOST: Final = 16 << 20
"""Bytes of a domain's heavy fetches, read or not, from which on no more of the domain should be fetched: they take some
ten seconds to load."""
REST: Final = 2
"""How many times as long as heavy fetches took the others go first."""
OTHERS: Final = 2000
"""Milliseconds after others were last there for which they are still reckoned with."""
_REMEMBERED: Final = 10_000
_TOLD: Final = 50
"""Domains that are named to others at a time: the largest ones."""

T = TypeVar("T")


class HeavyDomains:
    """Domains whose fetches are heavy, lately and on the whole; at most 10,000 of them."""

    def __init__(self) -> None:
        self._size: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, domain: str) -> bool:
        return domain in self._size

    def size(self, domain: str) -> int:
        """Bytes that a fetch of this domain probably has."""
        return self._size.get(domain, 0)

    def was_read(self, domain: str, size: int) -> None:
        """A fetch of this domain has so many bytes."""
        known = self._size.pop(domain, None)
        if known is not None:
            size = (3 * known + size) // 4
        if size >= HEAVY:
            self._size[domain] = size
            if len(self._size) > _REMEMBERED:
                self._size.popitem(last=False)


class TurnQueue(Generic[T]):
    """Things of many domains: the domains take turns, and within one what came first goes first."""

    def __init__(self) -> None:
        self._by_domain: OrderedDict[str, deque[T]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, domain: str, item: T) -> None:
        self._by_domain.setdefault(domain, deque()).append(item)
        self._count += 1

    def put_first(self, domain: str, item: T) -> None:
        self._by_domain.setdefault(domain, deque()).appendleft(item)
        self._count += 1

    def pop(self) -> T:
        domain, items = self._by_domain.popitem(last=False)
        item = items.popleft()
        if items:
            self._by_domain[domain] = items  # behind the other domains
        self._count -= 1
        return item

    def clear(self) -> list[T]:
        items = [item for queue in self._by_domain.values() for item in queue]
        self._by_domain.clear()
        self._count = 0
        return items

    def counts(self) -> dict[str, int]:
        return {domain: len(items) for domain, items in self._by_domain.items()}


def crowding(waiting: dict[str, int]) -> list[str]:
    """The domains of which so much waits, in bytes, that no more should be fetched; those with the most come first."""
    full = [domain for domain, size in waiting.items() if size >= WAITING_MOST]
    return sorted(full, key=lambda domain: (-waiting[domain], domain))[:_TOLD]


class HeavyShare:
    """Whose turn it is: while others are loaded, heavy fetches get a third of the time, without them all of it."""

    def __init__(self) -> None:
        self._not_before = 0
        self._others_at: int | None = None

    def is_turn(self, now: int) -> bool:
        """Whether a heavy fetch may be loaded now; the others may wait that long, too: nobody waits for ever."""
        return now >= self._not_before or self._others_at is None or now - self._others_at > OTHERS

    def others_are_there(self, now: int) -> None:
        """Others wait, or were loaded."""
        self._others_at = now

    def heavy_loaded(self, began: int, now: int) -> None:
        took = now - began
        self._not_before = now + REST * took
        if self._others_at is not None:
            # None could be taken in hand meanwhile, so that this time says nothing about them.
            self._others_at += took

"""Fronts: where the waiting links of a domain begin, so that nobody reads what has left before them.

Links leave `new` and `due` at the low end. An engine may keep a mark of every cell that was deleted, for days; whoever
reads from the beginning then reads all of these marks. So a domain knows the first waiting link of each class. A class
is what qualifiers have in common at their beginning, chosen so that inside one of them links come in rising order:

new     hops and rarity: links that are found later are discovered later
due     what is wanted at once, in rising order of the wishes, apart from what is due by its time

A domain may have many classes if it tries to, but only the first `MOST` have a front; the last of them then stands for
all that follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from weft.dispatcher.domain_work import Fronts
from weft.dispatcher.link_records import DOMAIN_ROW, DUE, NEW
from weft.store.api import Cell, Reader
from weft.store.tables import Table

MOST: Final = 64
_CLASS: Final = {NEW: 2, DUE: 3}
"""Bytes of a qualifier that make its class. Moments in milliseconds begin with other three bytes than those in seconds
(and with others again once in 35 years, which is harmless)."""
_ABOVE: Final = b"\xff" * 6
"""Behind a class: above all of its qualifiers, in which a uri follows on at most five bytes."""


class Moved(NamedTuple):
    """Qualifiers of one family that a round brings, and those that it takes away."""

    came: list[bytes]
    gone: set[bytes]


class DomainMoves(NamedTuple):
    new: Moved
    due: Moved

    def of(self, family: bytes) -> Moved:
        return self.new if family == NEW else self.due


def no_moves() -> DomainMoves:
    return DomainMoves(Moved([], set()), Moved([], set()))


def fronts_after(reader: Reader, domain: bytes, before: Fronts | None, moves: DomainMoves) -> Fronts:
    """The fronts after a round that is not written yet. Nothing is read unless the link at a front leaves."""
    return Fronts(
        _Family(reader, domain, NEW).fronts_after(before and before.new, moves.new),
        _Family(reader, domain, DUE).fronts_after(before and before.due, moves.due),
    )


def waiting(reader: Reader, domain: bytes, family: bytes, fronts: Fronts | None, most: int | None) -> Iterator[Cell]:
    """The cells of the first links that wait, in order."""
    row = DOMAIN_ROW + domain
    if fronts is None:
        yield from reader.scan(Table.LINKS, row, family, limit=most)
        return
    left = most
    for number, front in enumerate(fronts.new if family == NEW else fronts.due, 1):
        prefix = b"" if number == MOST else front[: _CLASS[family]]
        for cell in reader.scan(Table.LINKS, row, family, prefix=prefix, start=front, limit=left):
            yield cell
            left = None if left is None else left - 1
        if left == 0:
            return


class _Family:
    """The waiting links of one kind, as they are stored before the round."""

    def __init__(self, reader: Reader, domain: bytes, family: bytes) -> None:
        self._reader, self._row, self._family = reader, DOMAIN_ROW + domain, family
        self._size = _CLASS[family]

    def fronts_after(self, fronts: tuple[bytes, ...] | None, moved: Moved) -> tuple[bytes, ...]:
        if fronts is None:
            return _in_order(self._fill({}, b"", moved))
        if not moved.came and moved.gone.isdisjoint(fronts):
            return fronts
        # Of a full list nothing is known beyond the class of its last front.
        end = fronts[-1][: self._size] + _ABOVE if len(fronts) >= MOST else None
        firsts = self._remaining(fronts, moved.gone)
        for qualifier in moved.came:
            if end is None or qualifier < end:
                name = qualifier[: self._size]
                firsts[name] = min(firsts.get(name, qualifier), qualifier)
        return _in_order(firsts if end is None else self._fill(firsts, end, moved))

    def _remaining(self, fronts: tuple[bytes, ...], gone: Collection[bytes]) -> dict[bytes, bytes]:
        """The first link of each class that was there before and stays."""
        firsts: dict[bytes, bytes] = {}
        for front in fronts:
            name = front[: self._size]
            first = self._first_left(name, front, gone) if front in gone else front
            if first is not None:
                firsts[name] = first
        return firsts

    def _fill(self, firsts: dict[bytes, bytes], start: bytes, moved: Moved) -> dict[bytes, bytes]:
        """Add the first link of each class from `start` on, until there are enough."""
        came = sorted(qualifier for qualifier in moved.came if qualifier >= start)
        while len(firsts) < MOST:
            found = [q for q in (self._first_left(b"", start, moved.gone), next(iter(came), None)) if q is not None]
            if not found:
                break
            first = min(found)
            name = first[: self._size]
            firsts[name], start = first, name + _ABOVE
            came = [qualifier for qualifier in came if qualifier >= start]
        return firsts

    def _first_left(self, prefix: bytes, start: bytes, gone: Collection[bytes]) -> bytes | None:
        """The first stored link from `start` on that this round does not take away."""
        cells = self._reader.scan(Table.LINKS, self._row, self._family, prefix=prefix, start=start, limit=len(gone) + 1)
        return next((cell.qualifier for cell in cells if cell.qualifier not in gone), None)


def _in_order(firsts: dict[bytes, bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(firsts.values())[:MOST])

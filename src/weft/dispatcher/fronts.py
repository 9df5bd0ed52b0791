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
from dataclasses import dataclass, field
from typing import Final

from weft.dispatcher.domain_work import Fronts
from weft.dispatcher.link_records import DOMAIN_ROW, DUE, NEW, waiting_head
from weft.store.api import Cell, Reader
from weft.store.tables import Table

MOST: Final = 64
"""Fixed for good: a stored list of so many is known to be cut off."""
_CLASS: Final = {NEW: 2, DUE: 3}
"""Bytes of a qualifier that make its class. Moments in milliseconds begin with other three bytes than those in seconds
(and with others again once in 35 years, which is harmless)."""
_ABOVE: Final = b"\xff" * 6
"""Behind a class: above all of its qualifiers, in which a uri follows on at most five bytes."""


@dataclass(slots=True)
class Moves:
    """Keys of a domain's waiting links that a round brings, and of those that it takes away."""

    new_came: list[bytes] = field(default_factory=list)
    new_gone: list[bytes] = field(default_factory=list)
    due_came: list[bytes] = field(default_factory=list)
    due_gone: list[bytes] = field(default_factory=list)


def fronts_after(reader: Reader, domain: bytes, before: Fronts | None, moves: Moves) -> Fronts:
    """The fronts after a round that is not written yet. Nothing is read unless the link at a front leaves."""
    new, due = _Family(reader, domain, NEW), _Family(reader, domain, DUE)
    return Fronts(
        new.fronts_after(before.new if before else None, moves.new_came, moves.new_gone),
        due.fronts_after(before.due if before else None, moves.due_came, moves.due_gone),
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
        self._head, self._size = waiting_head(domain), _CLASS[family]

    def fronts_after(
        self, fronts: tuple[bytes, ...] | None, came_keys: list[bytes], gone_keys: list[bytes]
    ) -> tuple[bytes, ...]:
        if not came_keys and not gone_keys and fronts is not None:
            return fronts
        came, gone = self._first_of_classes(came_keys), {key[self._head :] for key in gone_keys}
        if fronts is None:
            return _in_order(self._fill({}, b"", came, gone))
        # Of a full list nothing is known beyond the class of its last front.
        end = fronts[-1][: self._size] + _ABOVE if len(fronts) >= MOST else None
        firsts = self._remaining(fronts, gone)
        for name, first in came.items():
            if end is None or first < end:
                firsts[name] = min(firsts.get(name, first), first)
        return _in_order(firsts if end is None else self._fill(firsts, end, came, gone))

    def _first_of_classes(self, keys: list[bytes]) -> dict[bytes, bytes]:
        head, end = self._head, self._head + self._size
        firsts: dict[bytes, bytes] = {}
        for key in keys:
            name = key[head:end]
            if name not in firsts or key < firsts[name]:
                firsts[name] = key
        return {name: key[head:] for name, key in firsts.items()}

    def _remaining(self, fronts: tuple[bytes, ...], gone: Collection[bytes]) -> dict[bytes, bytes]:
        """The first link of each class that was there before and stays."""
        firsts: dict[bytes, bytes] = {}
        for front in fronts:
            name = front[: self._size]
            first = self._first_left(name, front, gone) if front in gone else front
            if first is not None:
                firsts[name] = first
        return firsts

    def _fill(
        self, firsts: dict[bytes, bytes], start: bytes, came: dict[bytes, bytes], gone: Collection[bytes]
    ) -> dict[bytes, bytes]:
        """Add the first link of each class from `start` on, until there are enough."""
        while len(firsts) < MOST:
            found = [first for first in came.values() if first >= start]
            if (left := self._first_left(b"", start, gone)) is not None:
                found.append(left)
            if not found:
                break
            first = min(found)
            name = first[: self._size]
            firsts[name], start = first, name + _ABOVE
        return firsts

    def _first_left(self, prefix: bytes, start: bytes, gone: Collection[bytes]) -> bytes | None:
        """The first stored link from `start` on that this round does not take away."""
        cells = self._reader.scan(Table.LINKS, self._row, self._family, prefix=prefix, start=start, limit=len(gone) + 1)
        return next((cell.qualifier for cell in cells if cell.qualifier not in gone), None)


def _in_order(firsts: dict[bytes, bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(firsts.values())[:MOST])

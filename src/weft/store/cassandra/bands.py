"""Rankings by bands: a count that moves within its band is written over in place and leaves no tombstone.

A band is the count with its six highest bits kept, from 1024 on its four highest. Counts below 64 have a band each, so
inside such a band names are in order already; a band of larger counts holds several, and is sorted by whoever reads it.
Few names have large counts, and those that have them are met by everybody who reads the top: their bands are wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from weft.store.cassandra.placement import Ranked

_BITS: Final = 6
_LARGE, _BITS_OF_LARGE = 1024, 4
SINGLE: Final = 1 << _BITS
"""Below it each band holds one count."""


class RankedCell(NamedTuple):
    """As it is stored, and as it sorts: the highest count first, ties by name."""

    falling: int
    """The count, negative."""
    name: bytes
    seq: int
    value: bytes | None
    """None: the digits of the count."""

    @property
    def counted(self) -> int:
        return -self.falling


class RankPut(NamedTuple):
    base: int
    shard: int
    list: bytes
    domain: bytes
    band: int
    name: bytes
    counted: int
    value: bytes | None


class RankDelete(NamedTuple):
    base: int
    shard: int
    list: bytes
    domain: bytes
    band: int
    name: bytes


def band_of(count: int) -> int:
    spare = max(0, count.bit_length() - (_BITS if count < _LARGE else _BITS_OF_LARGE))
    return count >> spare << spare


def rank_changes(cells: Iterable[tuple[Ranked, bytes | None]]) -> tuple[list[RankPut], list[RankDelete]]:
    """What one batch does to rankings. Where a name leaves a count and gets another one in the same band, only the put
    counts: both are one cell, and a delete would win."""
    puts: dict[tuple[bytes, bytes, int, bytes], RankPut] = {}
    deletes: list[RankDelete] = []
    for ranked, value in cells:
        band = band_of(ranked.counted)
        if value is None:
            deletes.append(RankDelete(*ranked[:4], band, ranked.name))
            continue
        told = None if value == b"%d" % ranked.counted else value
        put = RankPut(*ranked[:4], band, ranked.name, ranked.counted, told)
        key = (ranked.list, ranked.domain, band, ranked.name)
        if key not in puts or puts[key].counted < put.counted:
            puts[key] = put
    return list(puts.values()), [each for each in deletes if (each.list, each.domain, each.band, each.name) not in puts]


def sorted_bands(cells: Iterable[tuple[int, RankedCell]], *, reverse: bool = False) -> Iterator[RankedCell]:
    """Cells of one partition, given with their bands in the order of reading, in order of count and name."""
    band, held = -1, list[RankedCell]()
    for of_band, cell in cells:
        if of_band < SINGLE:
            yield from sorted(held, reverse=reverse)
            held = []
            yield cell
            continue
        if of_band != band:
            yield from sorted(held, reverse=reverse)
            band, held = of_band, []
        held.append(cell)
    yield from sorted(held, reverse=reverse)

"""Pages whose texts differ little: found by the bands of their simhashes, exactly.

n:<band>:<bits>  near:<simhash><uri>     empty: a page that has these 16 bits in this band of its simhash

Two simhashes that differ in at most three bits have at least one of four bands in common.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from weft.linkindex.cells import Cells
from weft.store.api import Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

DISTANCE: Final = 3
"""Bits in which near-duplicates may differ."""
LOOKED_AT: Final = 20_000
"""Pages of one band that one question looks at: of pages that are all alike, nobody wants the whole list."""
_BANDS: Final = DISTANCE + 1
_BAND_BITS: Final = 64 // _BANDS
_BYTES: Final = 8
NEAR: Final = b"near"
NEAR_ROW: Final = b"n:"


class NearDuplicate(NamedTuple):
    distance: int
    uri: bytes


def distance(one: int, other: int) -> int:
    return (one ^ other).bit_count()


def bands(simhash: int) -> list[tuple[int, int]]:
    """(band, bits) of a simhash."""
    return [(band, simhash >> band * _BAND_BITS & (1 << _BAND_BITS) - 1) for band in range(_BANDS)]


def near_cells(uri: bytes, before: int, after: int) -> Cells:
    """What changes when a page's simhash does; 0 is that of a page without a text, which is like no other."""
    cells: Cells = {}
    if before != after:
        cells |= dict.fromkeys(_keys(uri, before)) if before else {}
        cells |= dict.fromkeys(_keys(uri, after), b"") if after else {}
    return cells


def near_pages(reader: Reader, uri: bytes, simhash: int, most: int) -> list[NearDuplicate]:
    """At most `most` pages that differ from this one in at most DISTANCE bits, the nearest first."""
    found: set[NearDuplicate] = set()
    for band, bits in bands(simhash) if simhash else []:
        for cell in reader.scan(Table.LINKS, _row(band, bits), NEAR, limit=LOOKED_AT):
            other = int.from_bytes(cell.qualifier[:_BYTES], "big")
            if (bits_apart := distance(simhash, other)) <= DISTANCE:
                found.add(NearDuplicate(bits_apart, cell.qualifier[_BYTES:]))
    return sorted(near for near in found if near.uri != uri)[:most]


def folded(simhashes: Iterable[int]) -> list[int]:
    """For each item of a listing the first item before it that is nearly the same and was not folded, or itself."""
    keepers: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    kept_by = []
    for number, simhash in enumerate(simhashes):
        own = bands(simhash) if simhash else []
        alike = [kept for band in own for kept, other in keepers[band] if distance(simhash, other) <= DISTANCE]
        kept_by.append(min(alike, default=number))
        if not alike:
            for band in own:
                keepers[band].append((number, simhash))
    return kept_by


def _keys(uri: bytes, simhash: int) -> list[bytes]:
    qualifier = simhash.to_bytes(_BYTES, "big") + uri
    return [cell_key(Table.LINKS.byte, _row(band, bits), NEAR, qualifier) for band, bits in bands(simhash)]


def _row(band: int, bits: int) -> bytes:
    return NEAR_ROW + b"%d:%04x" % (band, bits)

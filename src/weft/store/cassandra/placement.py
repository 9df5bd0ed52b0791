"""Where a cell lies in the cluster: the only place that knows.

Cells lie in partitions named by a base (the part of the index that a domain belongs to) and a shard. A row's home is
one partition. The links of a domain are spread over all shards of their base by the name in their qualifier, so that no
partition grows with one domain, and are read by a merge; references to a page are spread over one shard in sixteen,
because they are read for every search document and few pages have millions. The few small cells that every domain has
lie in one partition for each base, so that one of them is read for all domains without reading anything else; those
that every base has lie in one partition. Rankings have a form of their own (`ranking`): if they were keyed by the
count, every count that moves would leave a tombstone where the ranking is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

from weft.errors import WeftError
from weft.model.domain import reversed_domain
from weft.model.host import domain_of_host
from weft.model.url import Uri, domain_of
from weft.model.versions import BASES
from weft.store.encoding import descending, split_descending
from weft.store.tables import Table

REMEMBERED: Final = b"w:"
META_BASE: Final = BASES
"""The store's own notes belong to no domain."""
_CHANGES, _FEED, _FLUO, _LINKS, _META, _QUERY = (
    *(Table.CHANGES, Table.FEED, Table.FLUO, Table.LINKS, Table.META, Table.QUERY),
)
_NEW_PREFIX: Final = 10
"""Bytes before the uri in a qualifier of `new`: hops, rarity, when it was discovered."""
_DUE_PREFIX: Final = 8
_LONGEST_COUNT: Final = 9
"""Bytes of an encoded count below 2**63."""


_BY_BASE: Final = {(_LINKS, b"c:"), (_LINKS, b"r:"), (_LINKS, b"w:"), (_CHANGES, b"a:"), (_FEED, b"f:")}
"""Rows that name their base: there is one of each."""


class Partition(NamedTuple):
    """Of all physical tables: `cells`, `history` and `ranking`."""

    base: int
    shard: int


_NOTES: Final = Partition(META_BASE, 0)
_OF_ALL_BASES: Final = Partition(META_BASE, 1)
"""Cells that each base has one of and that are read together: totals, and how far back the search feed reaches."""
_SHARDS_OF_A_PAGE: Final = 16
"""References to a page lie in one shard of so many: 100 MB are a million references or two, and an index with pages
that have more needs more shards anyway."""


class Ranked(NamedTuple):
    """A cell of a ranking, taken apart."""

    base: int
    shard: int
    list: bytes
    """Which kind of ranking: `t`, `p`, `r`, or `d` for those of domains."""
    domain: bytes
    """The row of the domain; empty: it is over all of them."""
    name: bytes
    counted: int


class Rankings(NamedTuple):
    """The partitions that one ranking is spread over; those of domains share theirs."""

    list: bytes
    domain: bytes
    head: Sequence[Partition]
    """Where names are that count HEAD at least."""
    partitions: Sequence[Partition]
    """Where the others are."""


HEAD: Final = 64
"""Names that count so much are together in one partition of a ranking over all domains: mostly these alone are looked
at. They are one in a hundred. A power of two, so that no band has names on both sides."""
_HEAD_PLACE: Final = Partition(META_BASE, 0)
OF_DOMAINS: Final = b"d"
_GLOBAL: Final = {
    (_QUERY, b"t:"): b"t",
    (Table.DOMAINS, b"p:"): b"p",
    (Table.DOMAINS, b"r:"): b"r",
}
"""Rankings over all domains: rows of a prefix, a count and a name. Below the head there is one partition for each base,
for whoever reads them reads every base."""


class Placement:
    """Pure: the same cell has the same place for good. `shards` is fixed when the keyspace is made."""

    def __init__(self, shards: int) -> None:
        self.shards = shards

    # Cells

    def of_cell(self, table: Table, row: bytes, family: bytes, qualifier: bytes) -> Partition:
        if _is_of_all_bases(table, row, family):
            return _OF_ALL_BASES
        home = self.home(table, row)
        if _is_of_page(table, row) and family == b"inlinks":
            places = self._of_references(home)
            return places[crc32(qualifier) % len(places)]
        name = spread_name(table, row, family, qualifier)
        return home if name is None else Partition(home.base, crc32(name) % self.shards)

    def of_family(self, table: Table, row: bytes, family: bytes | None) -> list[Partition]:
        """Where the cells of a family, or of the whole row, may lie."""
        if family is not None and _is_of_all_bases(table, row, family):
            return [_OF_ALL_BASES]
        home = self.home(table, row)
        if _is_of_page(table, row) and family in (None, b"inlinks"):
            return self._of_references(home)
        if family is None and table is _FEED:
            return [home, _OF_ALL_BASES]
        is_spread = (
            (table is _LINKS and row[:2] == b"l:")
            if family is None
            else spread_name(table, row, family, b"\xff" * 16) is not None
        )
        if not is_spread:
            return [home]
        shards = [Partition(home.base, shard) for shard in range(self.shards)]
        return [*shards, home] if family is None else shards

    def _of_references(self, home: Partition) -> list[Partition]:
        """The page's own partition is one of them."""
        count = max(1, self.shards // _SHARDS_OF_A_PAGE)
        apart = self.shards // count
        return [Partition(home.base, (home.shard + number * apart) % self.shards) for number in range(count)]

    def of_column(self, table: Table, prefix: bytes, family: bytes) -> list[Partition] | None:
        """Where the cells of a small family lie, one of each row that begins with `prefix`; None: they lie anywhere."""
        if not _is_of_domain(table, prefix) or spread_name(table, prefix, family, b"") is not None:
            return None
        return [Partition(base, self.shards) for base in range(BASES)]

    def home(self, table: Table, row: bytes) -> Partition:
        kind = row[:2]
        if table is _META or _is_of_all_bases(table, row, b""):
            return _NOTES if table is _META else _OF_ALL_BASES
        if kind == b"p:" or (table is Table.DOCS and kind == b"x:") or (table is _CHANGES and kind == b"u:"):
            return self._of_uri(row[2:])
        if kind in (b"d:", b"l:"):
            return self._of_domain(table, row)
        if table is _FLUO:
            return self._of_fluo(row, kind)
        if table is _LINKS and kind == b"s:":
            return Partition(base_of_site(row[2:]), 0)
        return self._of_base(row) if (table, kind) in _BY_BASE else self._of_name(row)

    def of_rows(self, table: Table, prefix: bytes) -> list[Partition]:
        """Where rows that begin with `prefix` may lie; those of a ranking have no other cells."""
        if (table, prefix[:2]) in _GLOBAL:
            return []
        if table is _META:
            return [_NOTES]
        if table is _FLUO and prefix[:3] == b"tm:":
            return [_OF_ALL_BASES]
        base = None
        shards = self.shards + 1 if table in (_LINKS, _QUERY) else self.shards
        if table is _FLUO and prefix[:3] in (b"um:", b"dm:"):
            base = base_in(prefix[3:5])
        elif (table, prefix[:2]) in _BY_BASE:
            base, shards = base_in(prefix[2:]), 1
        bases = range(BASES) if base is None else (base,)
        found = [Partition(each, shard) for each in bases for shard in range(shards)]
        return [*found, _OF_ALL_BASES] if table is _FEED or (table is _FLUO and b"tm:".startswith(prefix)) else found

    def _of_fluo(self, row: bytes, kind: bytes) -> Partition:
        base = base_in(row[3:5]) if kind in (b"um", b"dm") else None
        if base is None:
            return self._of_name(row)
        return Partition(base, crc32(row[6:]) % self.shards if row[6:] else 0)

    def _of_uri(self, uri: bytes) -> Partition:
        return Partition(base_of_uri(uri), crc32(uri) % self.shards)

    def _of_domain(self, table: Table, row: bytes) -> Partition:
        """The shard beyond all others holds what every domain has one of."""
        base, rest = crc32(row[2:]) % BASES, crc32(row[2:]) // BASES
        return Partition(base, self.shards if _is_of_domain(table, row) else rest % self.shards)

    def _of_base(self, row: bytes) -> Partition:
        base = base_in(row[2:4])
        return Partition(crc32(row) % BASES if base is None else base, 0)

    def _of_name(self, row: bytes) -> Partition:
        """A row that belongs to no domain: near-duplicates, and what means nothing to the link index."""
        return Partition(crc32(row) % BASES, crc32(row) // BASES % self.shards)

    # Rankings

    def of_ranked(self, table: Table, row: bytes, family: bytes, qualifier: bytes) -> Ranked | None:
        """The ranking that a cell is of; None: it is an ordinary cell."""
        found = _GLOBAL.get((table, row[:2]))
        if found is not None and not family and not qualifier and (place := ranked_place(row[2:])):
            count, name = place
            if count >= HEAD:
                return Ranked(*_HEAD_PLACE, found, b"", name, count)
            base = base_of_uri(name) if found == b"t" else crc32(name) % BASES
            return Ranked(base, 0, found, b"", name, count)
        if table is _QUERY and family == b"rank" and row[:2] == b"d:" and (place := ranked_place(qualifier)):
            count, name = place
            return Ranked(crc32(row[2:]) % BASES, crc32(name) % self.shards, OF_DOMAINS, row, name, count)
        return None

    def global_ranking(self, table: Table, kind: bytes) -> Rankings | None:
        """The ranking whose rows begin with these two bytes."""
        found = _GLOBAL.get((table, kind))
        if found is None:
            return None
        return Rankings(found, b"", [_HEAD_PLACE], [Partition(base, 0) for base in range(BASES)])

    def domain_ranking(self, row: bytes) -> Rankings:
        base = crc32(row[2:]) % BASES
        return Rankings(OF_DOMAINS, row, (), [Partition(base, shard) for shard in range(self.shards)])


def is_remembered(table: Table, row: bytes) -> bool:
    """Whether a row is kept in the owner's memory alone, because it follows from others: the lists of domains with
    work. Their cells come and go at the low end, where every delete would leave a tombstone in the way."""
    return table is _LINKS and row[:2] == REMEMBERED


def _is_of_page(table: Table, row: bytes) -> bool:
    return table is _QUERY and row[:2] == b"p:"


def _is_of_all_bases(table: Table, row: bytes, family: bytes) -> bool:
    """Whether every base has one such cell, and readers want those of all bases."""
    return (table is _FLUO and row[:3] == b"tm:") or (table is _FEED and family in (b"all", b"dropped"))


def _is_of_domain(table: Table, row: bytes) -> bool:
    """Whether every domain has one such row, with small cells besides those that are spread or ranked."""
    return (table, row[:2]) in ((_LINKS, b"l:"), (_QUERY, b"d:"))


def spread_name(table: Table, row: bytes, family: bytes, qualifier: bytes) -> bytes | None:
    """By what a cell of a family without bound is spread over the shards; None: it lies with its row."""
    if table is not _LINKS or row[:2] != b"l:" or family in (b"domain", b"entered", b"hosts"):
        return None
    if family == b"new":
        return qualifier[_NEW_PREFIX:]
    return qualifier[_DUE_PREFIX:] if family == b"due" else qualifier


def ranked_place(data: bytes) -> tuple[int, bytes] | None:
    """The count that these bytes begin with, and the name that follows; None: they are something else."""
    size = 1 + 0xFF - data[0] if data else 0
    if not 0 < size <= min(len(data), _LONGEST_COUNT):
        return None
    count, name = split_descending(data)
    return (count, name) if name and descending(count) == data[:size] else None


def keeps_with_time(table: Table) -> bool:
    """Whether cells are never written again and vanish by themselves: those of history.

    What rounds told search is deleted instead: an index server must find noted what is gone, however long nothing is
    written. It and whoever deletes read from that note on, so no tombstone is in their way.
    """
    return table is _CHANGES


def base_in(digits: bytes) -> int | None:
    """The base that two hex digits in a row name."""
    try:
        base = int(digits, 16) if len(digits) == 2 else BASES
    except ValueError:
        return None
    return base if base < BASES else None


@lru_cache(maxsize=65_536)
def base_of_uri(uri: bytes) -> int:
    try:
        domain = reversed_domain(domain_of(Uri(uri.decode("ascii")))).encode()
    except (ValueError, WeftError):
        domain = uri  # no uri of the link index
    return crc32(domain) % BASES


def base_of_site(site: bytes) -> int:
    try:
        return crc32(reversed_domain(domain_of_host(site.decode("ascii"))).encode()) % BASES
    except (ValueError, WeftError):
        return crc32(site) % BASES

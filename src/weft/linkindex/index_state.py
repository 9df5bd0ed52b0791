"""What the observers need to know before they decide, read from the store and remembered while that is safe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from weft.linkindex import keys
from weft.linkindex.loaded import outlinks_of
from weft.linkindex.observers import NOTHING_BEFORE, PageBefore
from weft.linkindex.records import (
    DomainInfo,
    PageRecord,
    Totals,
    UriInfo,
    Version,
    decode_page,
    decode_since,
    decompress_doc,
)
from weft.store.api import Reader
from weft.store.tables import Table

Value = TypeVar("Value")


REMEMBERED: Final = 96 << 20
"""Bytes of uris that are remembered: about 400,000 ordinary ones."""
ENTRY: Final = 200
"""Bytes that an entry takes beyond its name."""


class Memory(Generic[Value]):
    """The values used last, up to about `size` bytes of them: two generations, the older one dropped when the younger
    is full. Bounded in bytes, for the names are uris, and somebody else chooses how long those are."""

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._young: dict[bytes, Value] = {}
        self._old: dict[bytes, Value] = {}
        self._young_size = 0

    def find(self, names: Iterable[bytes]) -> tuple[dict[bytes, Value], list[bytes]]:
        """The values that are remembered, and the names of those that are not."""
        found: dict[bytes, Value] = {}
        missing: list[bytes] = []
        young, old = self._young, self._old
        for name in names:
            value = young.get(name)
            if value is None:
                value = old.get(name)
            if value is None:
                missing.append(name)
            else:
                found[name] = value
        return found, missing

    def remember(self, values: Mapping[bytes, Value]) -> None:
        before = len(self._young)
        self._young.update(values)
        new = len(self._young) - before
        if new:
            # As if new names were as long as the others: to look which are new would cost more than this is worth.
            self._young_size += new * ENTRY + sum(map(len, values)) * new // len(values)
        if self._young_size > self._half:
            self._old, self._young, self._young_size = self._young, {}, 0

    def forget(self) -> None:
        self._young, self._old, self._young_size = {}, {}, 0


class IndexState:
    """The observers' state in a store that nobody else changes: what was written once need not be read again."""

    def __init__(self, store: Reader, remembered: int = REMEMBERED) -> None:
        self._store = store
        self._uris: Memory[UriInfo] = Memory(remembered)
        self._domains: Memory[DomainInfo] = Memory(remembered // 4)

    def versions(self, uris: Sequence[bytes]) -> dict[bytes, Version]:
        """The version of each page that was ever loaded or deleted."""
        columns = [keys.page_column(uri, name) for uri in uris for name in (keys.VERSION, keys.GONE)]
        cells = self._store.get(Table.FLUO, columns)
        return {cell.row[2:]: Version.decode(cell.value) for cell in cells if cell is not None}

    def befores(self, uris: Sequence[bytes]) -> dict[bytes, PageBefore]:
        """What each page says until now; a page that is not there is left out."""
        columns = [keys.page_column(uri, name) for uri in uris for name in (keys.CUR, keys.SINCE)]
        cells = self._store.get(Table.FLUO, columns)
        return {
            cur.row[2:]: _before(decode_page(cur.value), since.value) if since else NOTHING_BEFORE
            for cur, since in zip(cells[::2], cells[1::2], strict=True)
            if cur is not None
        }

    def docs(self, uris: Sequence[bytes]) -> dict[bytes, bytes]:
        """The packed doc of each page that has one."""
        cells = self._store.get(Table.DOCS, [keys.doc_column(uri) for uri in uris])
        return {cell.row[2:]: decompress_doc(cell.value) for cell in cells if cell is not None}

    def uris(self, domains: Mapping[bytes, bytes]) -> dict[bytes, UriInfo]:
        """The info of each uri (given with its domain) that exists."""
        found, missing = self._uris.find(domains)
        cells = self._store.get(Table.FLUO, [keys.uri_info_column(domains[uri], uri) for uri in missing])
        for uri, cell in zip(missing, cells, strict=True):
            if cell is not None:
                found[uri] = UriInfo.decode(cell.value)
        return found

    def domains(self, domains: Sequence[bytes]) -> dict[bytes, DomainInfo]:
        found, missing = self._domains.find(domains)
        cells = self._store.get(Table.FLUO, [keys.domain_info_column(domain) for domain in missing])
        for domain, cell in zip(missing, cells, strict=True):
            if cell is not None:
                found[domain] = DomainInfo.decode(cell.value)
        return found

    def totals(self) -> dict[int, Totals]:
        cells = self._store.get(Table.FLUO, keys.totals_columns())
        return {base: Totals.decode(cell.value) for base, cell in enumerate(cells) if cell is not None}

    def remember(self, uris: Mapping[bytes, UriInfo], domains: Mapping[bytes, DomainInfo]) -> None:
        """Keep what was just committed."""
        self._uris.remember(uris)
        self._domains.remember(domains)

    def forget(self) -> None:
        """Drop everything: a commit failed, or somebody else wrote."""
        self._uris.forget()
        self._domains.forget()


def _before(record: PageRecord, since: bytes) -> PageBefore:
    return PageBefore(outlinks_of(record), decode_since(since), record.title.encode())

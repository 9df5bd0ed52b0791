"""A whole index at once: pages are sorted, all tables computed from them, and taken in by the store in one step.

1. Every page waits in a sort by uri; of several versions of a page the newest stands.
2. A walk over the pages writes their own cells and gathers the references by target.
3. The batch program makes the derived cells from those.

Until the last step the store is as empty as before; a kill leaves nothing behind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from weft.config.sections import IndexSettings
from weft.errors import UsageError
from weft.linkindex import keys
from weft.linkindex.batch import Columns, derived_columns
from weft.linkindex.changes import baseline_cells
from weft.linkindex.derived import Pair
from weft.linkindex.external_sort import MEMORY, ExternalSort
from weft.linkindex.feed import feed_all_cells
from weft.linkindex.gc_paused import gc_paused
from weft.linkindex.inlinks import InlinkSort
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.pipeline import count_cell
from weft.linkindex.records import Version, compress_doc, encode_since
from weft.store.api import BulkStore, CellParts, Reader
from weft.store.tables import Table

_BLOCK: Final = 1000
_ARRIVAL: Final = 8
"""Bytes of the number that keeps a page's versions in the order of their arrival."""

_FIRST_PAGE_KEY: Final = keys.page_cur(b"")[: len(b"fp:")]


class _Waiting(NamedTuple):
    """A version of a page while it waits: what the store and the references need of it."""

    fetched: int
    content: bytes
    cur: bytes
    doc: bytes
    targets: list[bytes]
    anchors: list[bytes]
    plain: list[bool]
    counted: list[int] | None
    """Which outlinks are references, by number; None: all."""
    since: list[int] | None = None
    """When each outlink appeared; None: with this version. Of a page seen again: since when it says the same."""
    changed: int | None = None
    """When the doc became what it is; None: with this version."""

    @property
    def is_seen_again(self) -> bool:
        return not self.content


class _Said(msgspec.Struct, array_like=True, gc=False):
    """The beginning of a _Waiting, for those who do not need its outlinks."""

    fetched: int
    content: bytes
    cur: bytes


class _Page(NamedTuple):
    uri: bytes
    now: _Waiting


class BulkBuilt(NamedTuple):
    """What a bulk build made."""

    seq: int
    pages: int
    """That exist, or are known to be gone."""
    links: int


_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(_Waiting).decode
_unpack_said: Final = msgspec.msgpack.Decoder(_Said).decode
_age: Final = attrgetter("fetched", "content")


def is_empty(reader: Reader) -> bool:
    """Whether no page was ever loaded or deleted: only then may a bulk build begin."""
    return next(reader.rows(Table.FLUO), None) is None


class BulkBuild:
    """Takes pages in any order, then makes the index of them."""

    def __init__(self, store: BulkStore, settings: IndexSettings, directory: Path, memory: int = MEMORY) -> None:
        if not is_empty(store):
            raise UsageError("a bulk build needs an empty index, and this one has pages; import without --bulk")
        self._store, self._settings, self._directory, self._memory = store, settings, directory, memory
        self._pages = ExternalSort(directory, memory)
        self._arrived = self._found = self._pages_there = self._links = 0

    def add(self, pages: Iterable[LoadedPage]) -> None:
        with gc_paused():
            self._pages.extend([self._record(page) for page in pages])

    def _record(self, page: LoadedPage) -> bytes:
        self._arrived += 1
        targets, domains, anchors, plain = page.outlinks
        counted = None
        if self._settings.count == "external":
            counted = [number for number, domain in enumerate(domains) if domain != page.domain]
        doc = compress_doc(page.doc) if page.doc else b""
        since = None if page.same_since is None else [page.same_since]
        packed = _pack((*page.version, page.cur, doc, targets, anchors, plain, counted, since))
        return b"".join((page.uri, b"\0", self._arrived.to_bytes(_ARRIVAL, "big"), packed))

    def finish(self, notes: Mapping[bytes, bytes | None], now: int) -> BulkBuilt:
        """Make the index of everything that was added, with `notes` (cells of table META), durable at once."""
        seq = self._store.last_seq + 1
        marked = {**notes, **count_cell(self._settings.count)}
        with gc_paused(), ExitStack() as open_things:
            # Pages that wait on disk have left their memory to the references.
            share = 1 if self._pages.is_on_disk else 2
            references = open_things.enter_context(InlinkSort(self._directory, self._memory // share))
            parts = open_things.enter_context(self._store.building(seq, self._directory, marked))
            self._write_pages(parts, references)
            self._write_derived(parts, derived_columns(references, self._curs(), self._directory, memory=self._memory))
            if self._settings.history and self._pages_there:
                baseline = baseline_cells(seq, now, self._links, self._pages_there)
                parts.part().write(sorted(baseline.items()))
            parts.part().write(sorted(feed_all_cells(seq).items()))
        return BulkBuilt(seq, self._found, self._links)

    def _write_pages(self, parts: CellParts, references: InlinkSort) -> None:
        docs, own = parts.part(), parts.part()
        newest = self._newest()
        while block := list(islice(newest, _BLOCK)):
            docs.write(chain.from_iterable(map(_doc_cells, block)))
            own.write(chain.from_iterable(map(_own_cells, block)))
            for uri, now in block:
                if now.cur:
                    self._pages_there += 1
                    columns = _references(now)
                    references.add(uri, *columns)
                    self._links += len(columns[0])
            self._found += len(block)

    def _write_derived(self, parts: CellParts, derived: Iterator[Columns]) -> None:
        """Around the pages' own cells: files of one ingest must not overlap."""
        below, above = parts.part(), parts.part()
        for names, values in derived:
            cut = bisect_left(names, _FIRST_PAGE_KEY)
            below.write_columns(names[:cut], values[:cut])
            above.write_columns(names[cut:], values[cut:])

    def _newest(self) -> Iterator[_Page]:
        for uri, records in groupby(self._pages, key=_uri_of):
            current: _Waiting | None = None
            for record in records:
                current = _later(current, _unpack(record[len(uri) + 1 + _ARRIVAL :]))
            if current is not None:
                yield _Page(uri, current)

    def _curs(self) -> Iterator[Pair]:
        """What each page says that is there, in order of uris."""
        for uri, records in groupby(self._pages, key=_uri_of):
            newest: _Said | None = None
            # One at a time, there may be many; the first of those that are equal, as in `_newest`.
            for record in records:
                other = _unpack_said(record[len(uri) + 1 + _ARRIVAL :])
                if not other.content:
                    _move(newest, record[len(uri) + 1 + _ARRIVAL :])
                else:
                    newest = max(newest, other, key=_age) if newest else other
            if newest and newest.cur:
                yield uri, newest.cur

    def close(self) -> None:
        self._pages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _uri_of(record: bytes) -> bytes:
    return record[: record.index(0)]


def _later(current: _Waiting | None, other: _Waiting) -> _Waiting | None:
    """The newer of two versions; an outlink that stays keeps the time of its first appearance."""
    if other.is_seen_again:
        if current is None or not _is_confirmed(current, other):
            return current
        return current._replace(fetched=other.fetched, since=_appearances(current), changed=_changed(current))
    if current is None:
        return other
    if other[:2] <= current[:2]:
        return current
    since = _appearances(current)
    appeared = dict(zip(current.targets, since, strict=True))
    changed = _changed(current) if current.cur and current.doc == other.doc else None
    return other._replace(since=[appeared.get(target, other.fetched) for target in other.targets], changed=changed)


def _appearances(version: _Waiting) -> list[int]:
    return version.since or [version.fetched] * len(version.targets)


def _changed(version: _Waiting) -> int:
    return version.fetched if version.changed is None else version.changed


def _is_confirmed(current: _Waiting | _Said, again: _Waiting) -> bool:
    (since,) = again.since or [0]
    return bool(current.cur) and since <= current.fetched < again.fetched


def _move(newest: _Said | None, seen_again: bytes) -> None:
    again = _unpack(seen_again)
    if newest and _is_confirmed(newest, again):
        newest.fetched = again.fetched


def _references(now: _Waiting) -> tuple[list[bytes], list[bytes], list[bool]]:
    """Targets, anchors, and whether each says http."""
    columns = now.targets, now.anchors, now.plain
    if now.counted is None:
        return columns
    targets, anchors, plain = columns
    kept = now.counted
    return [targets[n] for n in kept], [anchors[n] for n in kept], [plain[n] for n in kept]


def _doc_cells(page: _Page) -> list[Pair]:
    uri, now = page
    cells = [(keys.doc(uri), now.doc)] if now.doc else []
    return [*cells, (keys.doc_changed(uri), b"%d" % _changed(now))] if now.cur else cells


def _own_cells(page: _Page) -> list[Pair]:
    """A page's row of `fluo`, in the order of its columns."""
    uri, now = page
    version = Version(now.fetched, now.content).encode()
    if not now.cur:
        return [(keys.page_gone(uri), version)]
    since = _appearances(now)
    return [
        (keys.page_cur(uri), now.cur),
        (keys.page_since(uri), encode_since(since)),
        (keys.page_version(uri), version),
    ]

"""Answers about changes: from a page's row, or from the blocks of a domain or of everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from weft.answers.objects import ChangeItem, moment
from weft.answers.paging import Page, Reached, page
from weft.answers.view import View
from weft.linkindex.changes import (
    ALL_ROWS,
    BLOCKS,
    LINK_BLOCK,
    LINK_CHANGES,
    MIXED_BLOCK,
    PAGE_BLOCK,
    PAGE_CHANGES,
    HistoryBlock,
    RecordedChange,
    join_blocks,
    read_block,
    read_target_block,
)
from weft.linkindex.updates import PAGE_MOVED, PAGE_NEW, PAGE_TITLE
from weft.model.url import Uri
from weft.store.api import Cell, Reader
from weft.store.tables import Table

LINKS, PAGES = "links", "pages"
KINDS: Final = {LINKS: frozenset(LINK_CHANGES), PAGES: frozenset(PAGE_CHANGES)}
"""The steps of each kind of change."""
_ALL: Final = KINDS[LINKS] | KINDS[PAGES]
_CHANGES_PER_STEP: Final = 2
_NAMES: Final = LINK_CHANGES | PAGE_CHANGES
_BLOCKS: Final = {LINKS: (LINK_BLOCK, MIXED_BLOCK), PAGES: (PAGE_BLOCK, MIXED_BLOCK), None: BLOCKS}
"""Where the changes of a kind are."""
MOST_LOOKED_AT: Final = 200_000
"""Changes that one answer looks at, with the rest of the batch that reaches this number: about 5 µs each. An answer
shows what it finds among them, and its cursor leads on."""
_BATCH: Final = 50
"""Opening a batch costs about as much as looking at so many changes."""


class HistoryRange(NamedTuple):
    """Which part of the history is wanted."""

    since: int | None
    """Milliseconds since 1970."""
    kind: str | None
    """LINKS or PAGES; None: both."""
    limit: int
    cursor: str | None


def page_history(view: View, target: bytes, wanted: HistoryRange) -> Page[ChangeItem]:
    row = b"u:" + target
    return _history(view, row, [row], BatchReader(partial(read_target_block, target)), wanted)


def domain_history(view: View, domain: bytes, wanted: HistoryRange) -> Page[ChangeItem]:
    row = b"d:" + domain
    return _history(view, row, [row], _recent_blocks(wanted), wanted)


def whole_history(view: View, wanted: HistoryRange, batches: BatchReader) -> Page[ChangeItem]:
    """`batches` reads blocks of bases, and may have done so for other answers before."""
    chosen = batches if wanted.since is None else _recent_blocks(wanted)
    return _history(view, ALL_ROWS, _all_rows(view.reader), chosen, wanted)


def _recent_blocks(wanted: HistoryRange) -> BatchReader:
    return BatchReader(lambda block: read_block(block, wanted.since))


def with_urls(view: View, items: Sequence[ChangeItem]) -> list[ChangeItem]:
    """With the URLs to show for the pages; what a change does not name stays empty."""
    named = (uri for item in items for uri in (item.source, item.target, item.moved_to) if uri)
    uris = [Uri(uri) for uri in dict.fromkeys(named)]
    urls: dict[str | None, str] = {None: "", "": ""}
    urls.update(zip(uris, view.urls(uris, view.infos(uris)), strict=True))
    return [
        msgspec.structs.replace(
            item, source_url=urls[item.source], target_url=urls[item.target], moved_to=urls[item.moved_to] or None
        )
        for item in items
    ]


class Entry(NamedTuple):
    """A change and its place in the history: places of newer ones are smaller."""

    key: bytes
    change: RecordedChange


class BatchReader:
    """Reads what a batch changed, and keeps the last one: a large batch fills many answers."""

    def __init__(self, read: Callable[[bytes], HistoryBlock]) -> None:
        self._read = read
        self._kept: tuple[tuple[bytes, str | None], HistoryBlock] | None = None

    def block(self, batch: bytes, kind: str | None, cells: Iterable[Cell]) -> HistoryBlock:
        """`cells` are those of the batch that may hold changes of this kind."""
        kept = self._kept
        if kept is None or kept[0] != (batch, kind):
            kept = self._kept = (batch, kind), join_blocks([self._read(cell.value) for cell in cells])
        return kept[1]


def entries_after(reader: Reader, key: bytes, batches: BatchReader) -> Iterator[Entry]:
    """All changes that are newer than the one at `key`, the oldest first."""
    everything = HistoryRange(None, None, 0, None)
    for batch, cells in _batches(reader, _all_rows(reader), None, key[:-4], reverse=True):
        if key == place(batch, 0):
            continue  # all of it was seen: it need not be read
        changes = batches.block(batch, None, cells).changes
        yield from (entry for entry in _entries(batch, changes, key, everything, reverse=True) if entry.key != key)


def _all_rows(reader: Reader) -> list[bytes]:
    return list(reader.rows(Table.CHANGES, ALL_ROWS))


def _history(
    view: View, name: bytes, rows: Iterable[bytes], batches: BatchReader, wanted: HistoryRange
) -> Page[ChangeItem]:
    """Batch by batch, the newest first, and within a batch by time.

    Changes that are not wanted cost as much as others. When enough were passed over, or half of the budget went, the
    page ends, with a cursor to go on from there.
    """
    since, kind, budget = wanted.since, wanted.kind, view.budget

    def scan(start: bytes | None, *, reverse: bool) -> Iterator[Entry | Reached]:
        looked_at, before = 0, b""
        for batch, cells in _batches(view.reader, rows, kind, start and start[:-4], reverse=reverse):
            if looked_at >= MOST_LOOKED_AT or (looked_at and budget.is_half_spent):
                yield Reached((batch if reverse else before) + _BEHIND_ALL)
                return
            if not reverse and start == batch + _BEHIND_ALL:
                continue
            block = batches.block(batch, kind, cells)
            budget.spend(len(block.changes) // _CHANGES_PER_STEP)
            if since is None or block.recorded >= since:
                yield from _entries(batch, block.changes, start, wanted, reverse=reverse)
            elif not reverse:
                return
            before = batch
            # The batch that a cursor is in does not count: every answer gets beyond another one.
            if start is None or batch != start[:-4]:
                looked_at += _BATCH + len(block.changes)

    found = page(f"changes {name!r} {kind}", scan, lambda entry: entry.key, wanted.limit, wanted.cursor)
    return Page([change_item(entry.change) for entry in found.items], *found[1:])


def _batches(
    reader: Reader, rows: Iterable[bytes], kind: str | None, start: bytes | None, *, reverse: bool
) -> Iterator[tuple[bytes, Iterator[Cell]]]:
    """The blocks of each batch in these rows that may hold changes of this kind.

    A batch has one seq and one time of recording in all rows, so in order of seqs they are in order of time, also if
    the clock was set back.
    """
    scans = [
        reader.scan(Table.CHANGES, row, family, start=start, reverse=reverse)
        for family in _BLOCKS[kind]
        for row in rows
    ]
    seq_of = attrgetter("qualifier")
    return groupby(merge(*scans, key=seq_of, reverse=reverse), key=seq_of)


_BEHIND_ALL: Final = b"\xff" * 4
"""Behind all changes of a batch: no change has this number, so none is left out by going on from there, either way."""


def place(batch: bytes, number: int) -> bytes:
    """Where the change with this number in its batch, counted from the newest one, is in the history."""
    return batch + number.to_bytes(4, "big")


def _entries(
    batch: bytes, changes: list[RecordedChange], start: bytes | None, wanted: HistoryRange, *, reverse: bool
) -> Iterator[Entry]:
    """The changes of a batch from `start` on, if that is a place in this batch."""
    steps = KINDS[wanted.kind] if wanted.kind else _ALL
    first = 0 if not reverse else len(changes) - 1
    if start is not None and start[:-4] == batch:
        number = int.from_bytes(start[-4:], "big")
        first = number if not reverse else min(number, first)
    for number in range(first, -1, -1) if reverse else range(first, len(changes)):
        change = changes[number]
        if change.step in steps and (wanted.since is None or change.at >= wanted.since):
            yield Entry(place(batch, number), change)


def change_item(change: RecordedChange) -> ChangeItem:
    step, text = change.step, change.anchor.decode()
    is_link = step in LINK_CHANGES
    return ChangeItem(
        at=moment(change.at),
        kind=LINKS if is_link else PAGES,
        change=_NAMES[step],
        source=change.source.decode(),
        target=change.target.decode(),
        anchor=text if is_link else "",
        title=text if step in (PAGE_NEW, PAGE_TITLE) else None,
        moved_to=text if step == PAGE_MOVED else None,
    )

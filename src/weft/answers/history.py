"""Answers about changes: from a page's row, or from the blocks of a domain or of everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from weft.answers.objects import ChangeItem, moment
from weft.answers.paging import Page, page
from weft.linkindex.changes import (
    ALL_ROWS,
    BLOCK,
    LINK_CHANGES,
    PAGE_CHANGES,
    HistoryBlock,
    RecordedChange,
    join_blocks,
    read_block,
    read_target_block,
)
from weft.linkindex.updates import PAGE_MOVED, PAGE_NEW, PAGE_TITLE
from weft.store.api import Cell, Reader
from weft.store.tables import Table

LINKS, PAGES = "links", "pages"
KINDS: Final = {LINKS: frozenset(LINK_CHANGES), PAGES: frozenset(PAGE_CHANGES)}
"""The steps of each kind of change."""
_ALL: Final = KINDS[LINKS] | KINDS[PAGES]
_NAMES: Final = LINK_CHANGES | PAGE_CHANGES


class HistoryRange(NamedTuple):
    """Which part of the history is wanted."""

    since: int | None
    """Milliseconds since 1970."""
    kind: str | None
    """LINKS or PAGES; None: both."""
    limit: int
    cursor: str | None


def page_history(reader: Reader, target: bytes, wanted: HistoryRange) -> Page[ChangeItem]:
    row = b"u:" + target
    return _history(reader, row, [row], lambda block: read_target_block(target, block), wanted)


def domain_history(reader: Reader, domain: bytes, wanted: HistoryRange) -> Page[ChangeItem]:
    row = b"d:" + domain
    return _history(reader, row, [row], lambda block: read_block(block, wanted.since), wanted)


def whole_history(reader: Reader, wanted: HistoryRange) -> Page[ChangeItem]:
    rows = list(reader.rows(Table.CHANGES, ALL_ROWS))
    return _history(reader, ALL_ROWS, rows, lambda block: read_block(block, wanted.since), wanted)


class _Entry(NamedTuple):
    key: bytes
    change: RecordedChange


def _history(
    reader: Reader, name: bytes, rows: Iterable[bytes], read: Callable[[bytes], HistoryBlock], wanted: HistoryRange
) -> Page[ChangeItem]:
    """Batch by batch, the newest first, and within a batch by time."""
    since = wanted.since

    def scan(start: bytes | None, *, reverse: bool) -> Iterator[_Entry]:
        for batch, cells in _batches(reader, rows, start and start[:-4], reverse=reverse):
            block = join_blocks([read(cell.value) for cell in cells])
            if since is None or block.recorded >= since:
                yield from _entries(batch, block.changes, start, wanted, reverse=reverse)
            elif not reverse:
                return

    found = page(f"changes {name!r} {wanted.kind}", scan, lambda entry: entry.key, wanted.limit, wanted.cursor)
    return Page([_item(entry.change) for entry in found.items], found.next, found.prev)


def _batches(
    reader: Reader, rows: Iterable[bytes], start: bytes | None, *, reverse: bool
) -> Iterator[tuple[bytes, Iterator[Cell]]]:
    """The blocks of each batch in these rows.

    A batch has one seq and one time of recording in all rows, so in order of seqs they are in order of time, also if
    the clock was set back.
    """
    scans = [reader.scan(Table.CHANGES, row, BLOCK, start=start, reverse=reverse) for row in rows]
    seq_of = attrgetter("qualifier")
    return groupby(merge(*scans, key=seq_of, reverse=reverse), key=seq_of)


def _entries(
    name: bytes, changes: list[RecordedChange], start: bytes | None, wanted: HistoryRange, *, reverse: bool
) -> Iterator[_Entry]:
    steps = KINDS[wanted.kind] if wanted.kind else _ALL
    numbers = range(len(changes) - 1, -1, -1) if reverse else range(len(changes))
    for number in numbers:
        key, change = name + number.to_bytes(4, "big"), changes[number]
        is_beyond = start is None or (key <= start if reverse else key >= start)
        is_young = wanted.since is None or change.at >= wanted.since
        if is_beyond and is_young and change.step in steps:
            yield _Entry(key, change)


def _item(change: RecordedChange) -> ChangeItem:
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

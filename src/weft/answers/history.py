"""Answers about changes: from a page's row, or from the blocks of a domain or of everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.answers.objects import ChangeItem, moment
from weft.answers.paging import Page, page
from weft.linkindex.changes import (
    BLOCK,
    LINK,
    NAMES,
    Change,
    block_time,
    read_block,
    read_link,
    split_newest_first,
)
from weft.store.api import Cell, Reader
from weft.store.tables import Table


def page_history(reader: Reader, target: bytes, since: int | None, limit: int, cursor: str | None) -> Page[ChangeItem]:
    def scan(start: bytes | None, *, reverse: bool) -> Iterator[Cell]:
        for cell in reader.scan(Table.CHANGES, b"u:" + target, LINK, start=start, reverse=reverse):
            if since is None or split_newest_first(cell.qualifier)[0] >= since:
                yield cell
            elif not reverse:
                return

    found = page(f"changes {target!r}", scan, lambda cell: cell.qualifier, limit, cursor)
    items = [_item(read_link(target, cell.qualifier, cell.value)) for cell in found.items]
    return Page(items, found.next, found.prev)


class _Entry(NamedTuple):
    key: bytes
    change: Change


def domain_history(
    reader: Reader, domain: bytes | None, since: int | None, limit: int, cursor: str | None
) -> Page[ChangeItem]:
    """Batch by batch, the newest first, and within a batch by time."""
    row = b"a:" if domain is None else b"d:" + domain

    def scan(start: bytes | None, *, reverse: bool) -> Iterator[_Entry]:
        for cell in reader.scan(Table.CHANGES, row, BLOCK, start=start and start[:-4], reverse=reverse):
            if since is None or block_time(cell.value) >= since:
                yield from _entries(cell, start, since, reverse=reverse)

    found = page(f"changes {row!r}", scan, lambda entry: entry.key, limit, cursor)
    return Page([_item(entry.change) for entry in found.items], found.next, found.prev)


def _entries(cell: Cell, start: bytes | None, since: int | None, *, reverse: bool) -> Iterator[_Entry]:
    changes = read_block(cell.value)
    numbers = range(len(changes) - 1, -1, -1) if reverse else range(len(changes))
    for number in numbers:
        key = cell.qualifier + number.to_bytes(4, "big")
        is_wanted = start is None or (key <= start if reverse else key >= start)
        if is_wanted and (since is None or changes[number].at >= since):
            yield _Entry(key, changes[number])


def _item(change: Change) -> ChangeItem:
    return ChangeItem(
        at=moment(change.at),
        change=NAMES[change.step],
        source=change.source.decode(),
        target=change.target.decode(),
        anchor=change.anchor.decode(),
    )

"""Answers about changes: from a page's row, or from the blocks of a domain or of everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from weft.answers.objects import ChangeItem, moment
from weft.answers.paging import Page, page
from weft.linkindex.changes import BLOCK, NAMES, HistoryBlock, ReferenceChange, read_block, read_target_block
from weft.store.api import Reader
from weft.store.tables import Table


def page_history(reader: Reader, target: bytes, since: int | None, limit: int, cursor: str | None) -> Page[ChangeItem]:
    return _history(reader, b"u:" + target, lambda block: read_target_block(target, block), since, limit, cursor)


def domain_history(
    reader: Reader, domain: bytes | None, since: int | None, limit: int, cursor: str | None
) -> Page[ChangeItem]:
    row = b"a:" if domain is None else b"d:" + domain
    return _history(reader, row, lambda block: read_block(block, since), since, limit, cursor)


class _Entry(NamedTuple):
    key: bytes
    change: ReferenceChange


def _history(
    reader: Reader,
    row: bytes,
    read: Callable[[bytes], HistoryBlock],
    since: int | None,
    limit: int,
    cursor: str | None,
) -> Page[ChangeItem]:
    """Batch by batch, the newest first, and within a batch by time."""

    def scan(start: bytes | None, *, reverse: bool) -> Iterator[_Entry]:
        for cell in reader.scan(Table.CHANGES, row, BLOCK, start=start and start[:-4], reverse=reverse):
            block = read(cell.value)
            if since is None or block.recorded >= since:
                yield from _entries(cell.qualifier, block.changes, start, since, reverse=reverse)
            elif not reverse:
                return

    found = page(f"changes {row!r}", scan, lambda entry: entry.key, limit, cursor)
    return Page([_item(entry.change) for entry in found.items], found.next, found.prev)


def _entries(
    name: bytes, changes: list[ReferenceChange], start: bytes | None, since: int | None, *, reverse: bool
) -> Iterator[_Entry]:
    numbers = range(len(changes) - 1, -1, -1) if reverse else range(len(changes))
    for number in numbers:
        key = name + number.to_bytes(4, "big")
        is_wanted = start is None or (key <= start if reverse else key >= start)
        if is_wanted and (since is None or changes[number].at >= since):
            yield _Entry(key, changes[number])


def _item(change: ReferenceChange) -> ChangeItem:
    return ChangeItem(
        at=moment(change.at),
        change=NAMES[change.step],
        source=change.source.decode(),
        target=change.target.decode(),
        anchor=change.anchor.decode(),
    )

"""Answers about one page: who references it, and whom it references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.answers.objects import LinkItem, moment
from weft.answers.paging import Page, page
from weft.answers.view import View
from weft.linkindex import keys
from weft.linkindex.records import decode_page, decode_since
from weft.model.url import Uri, identity_of, url_of
from weft.store.api import Cell
from weft.store.tables import Table


def inlinks(view: View, target: Uri, limit: int, cursor: str | None) -> Page[LinkItem]:
    scan = view.row_scan(Table.QUERY, b"p:" + target.encode(), keys.INLINKS)
    found = page(f"in {target}", scan, lambda cell: cell.qualifier, limit, cursor)
    sources = [cell.qualifier for cell in found.items]
    columns = [keys.page_column(source, name) for source in sources for name in (keys.CUR, keys.SINCE)]
    cells = view.reader.get(Table.FLUO, columns)
    items = [
        _inlink(inlink, cur, since, target)
        for inlink, cur, since in zip(found.items, cells[::2], cells[1::2], strict=True)
    ]
    return Page(items, found.next, found.prev)


def _inlink(inlink: Cell, cur: Cell | None, since: Cell | None, target: Uri) -> LinkItem:
    """A reference as its source makes it; on an engine that shows rounds in part, the source may not be there yet."""
    source, anchor = Uri(inlink.qualifier.decode()), inlink.value.decode()
    if cur is None:
        return LinkItem(source, url_of(source), anchor, None)
    record = decode_page(cur.value)
    for link, at in zip(record.outlinks, decode_since(since.value) if since else [], strict=False):
        if identity_of(link.url).uri == target:
            return LinkItem(source, record.url, anchor, moment(at), link.rel)
    return LinkItem(source, record.url, anchor, None)


class _Numbered(NamedTuple):
    key: bytes
    item: LinkItem


def outlinks(view: View, source: Uri, limit: int, cursor: str | None) -> tuple[Page[LinkItem], int]:
    """In the page's order, and how many there are; few enough to be read whole."""
    names = (keys.CUR, keys.SINCE)
    cur, since = view.reader.get(Table.FLUO, [keys.page_column(source.encode(), name) for name in names])
    if cur is None:
        return Page([], None, None), 0
    everything = [
        _Numbered(b"%08d" % number, LinkItem(identity_of(link.url).uri, link.url, link.anchor, moment(at), link.rel))
        for number, (link, at) in enumerate(
            zip(decode_page(cur.value).outlinks, decode_since(since.value) if since else [], strict=True)
        )
    ]

    def scan(start: bytes | None, *, reverse: bool) -> Iterator[_Numbered]:
        chosen = [one for one in everything if start is None or (one.key <= start if reverse else one.key >= start)]
        return iter(chosen[::-1] if reverse else chosen)

    found = page(f"out {source}", scan, lambda one: one.key, limit, cursor)
    return Page([one.item for one in found.items], found.next, found.prev), len(everything)

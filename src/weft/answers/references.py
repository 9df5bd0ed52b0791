"""Answers about one page: who references it, and whom it references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from weft.answers.objects import LinkItem, moment
from weft.answers.paging import Page, page
from weft.answers.view import View
from weft.linkindex import keys
from weft.linkindex.records import decode_page, decode_since
from weft.model.url import Uri, identity_of, url_of
from weft.store.api import Cell
from weft.store.tables import Table

_SOURCES: Final = 50
"""Pages that are read at a time to see how they link: each may have thousands of links."""


def inlinks(view: View, target: Uri, limit: int, cursor: str | None) -> Page[LinkItem]:
    scan = view.row_scan(Table.QUERY, b"p:" + target.encode(), keys.INLINKS)
    found = page(f"in {target}", scan, lambda cell: cell.qualifier, limit, cursor)
    leads_there: dict[str, bool] = {}
    items = []
    for at in range(0, len(found.items), _SOURCES):
        some = found.items[at : at + _SOURCES]
        columns = [keys.page_column(cell.qualifier, name) for cell in some for name in (keys.CUR, keys.SINCE)]
        cells = view.reader.get(Table.FLUO, columns)
        for inlink, cur, since in zip(some, cells[::2], cells[1::2], strict=True):
            known = len(leads_there)
            items.append(_inlink(inlink, cur, since, target, leads_there))
            view.budget.spend(len(leads_there) - known)
    return Page(items, found.next, found.prev)


def _inlink(inlink: Cell, cur: Cell | None, since: Cell | None, target: Uri, leads_there: dict[str, bool]) -> LinkItem:
    """A reference as its source makes it; on an engine that shows rounds in part, the source may not be there yet.

    `leads_there` is what is known of URLs: pages of a site share most of their links.
    """
    source, anchor = Uri(inlink.qualifier.decode()), inlink.value.decode()
    if cur is None:
        return LinkItem(source, url_of(source), anchor, None)
    record = decode_page(cur.value)
    for link, at in zip(record.outlinks, decode_since(since.value) if since else [], strict=False):
        if (is_it := leads_there.get(link.url)) is None:
            is_it = leads_there[link.url] = identity_of(link.url).uri == target
        if is_it:
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

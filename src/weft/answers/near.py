"""Pages that say nearly the same: of one page, and folded in a listing. Only crawled pages have a simhash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.answers.objects import FoldedItem, NearItem, TopItem
from weft.answers.view import View
from weft.dispatcher.link_records import decode_record, link_column
from weft.linkindex.near_duplicates import folded, near_pages
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of
from weft.store.tables import Table

MOST: Final = 20
"""Near-duplicates that are told of one page."""


def near_items(view: View, uri: Uri) -> list[NearItem]:
    """The nearest pages, the nearest first."""
    found = near_pages(view.reader, uri.encode(), simhashes(view, [uri])[0], MOST)
    uris = [Uri(near.uri.decode()) for near in found]
    urls = view.urls(uris, view.infos(uris))
    return [NearItem(each, url, near.distance) for each, url, near in zip(uris, urls, found, strict=True)]


def fold(view: View, items: Sequence[TopItem]) -> list[FoldedItem]:
    """The items without those that say nearly the same as one before them, which names them."""
    kept_by = folded(simhashes(view, [Uri(item.uri) for item in items]))
    alike: dict[int, list[str]] = {}
    for number, keeper in enumerate(kept_by):
        alike.setdefault(keeper, []).extend([items[number].url] if keeper != number else [])
    return [
        FoldedItem(item.uri, item.url, item.references, item.score, item.crawled, alike[number])
        for number, item in enumerate(items)
        if number in alike
    ]


def simhashes(view: View, uris: Sequence[Uri]) -> list[int]:
    """0 where there is none: it was not crawled, or has no text."""
    columns = [link_column(reversed_domain(domain_of(uri)).encode(), uri.encode()) for uri in uris]
    return [decode_record(cell.value).simhash if cell else 0 for cell in view.reader.get(Table.LINKS, columns)]

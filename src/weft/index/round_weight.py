"""How much memory a page takes while it is loaded, estimated from what it will write.

A reference becomes about ten cells: its target is in the key of nearly all of them, the page that makes it in the
inlink and in three blocks of history, its words in `page:cur` (twice), in the inlink and in the history. A cell is held
as an object, as an entry of the batch and in RocksDB's memory at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from weft.index.read_fetch import ReadFetch
from weft.linkindex.loaded import LoadedPage

ROUND_WEIGHT: Final = 64 << 20
"""Bytes that a round may weigh before it is written. What one page weighs is bounded by `limits.page_link_bytes`;
ordinary rounds are full by their number of pages first."""
HEAVY_ROUND_WEIGHT: Final = ROUND_WEIGHT // 4
"""Of a round of heavy fetches, but for the last of them."""

_URL: Final = attrgetter("url")
_FETCH: Final = 4096
_CELLS: Final = 1500
"""Bytes of the objects of one reference or link, without the text in them."""
_TARGET, _SOURCE, _ANCHOR, _CONTENT, _FOLLOWED = 10, 4, 5, 4, 10
"""How often each is held; a link that is followed, by its URL alone, which is at least as long as its uri."""


def weight_of(read: ReadFetch) -> int:
    """Of a fetch and all that follows from it."""
    urls = sum(map(len, map(_URL, read.follow)))
    weight = _FETCH + _CELLS * len(read.follow) + _FOLLOWED * urls
    return weight + page_weight(read.page) if read.page else weight


def page_weight(page: LoadedPage) -> int:
    links = page.outlinks
    content = _CONTENT * (len(page.cur) + len(page.doc))
    references = len(links.targets) * (_CELLS + _SOURCE * len(page.uri))
    return content + references + _TARGET * sum(map(len, links.targets)) + _ANCHOR * sum(map(len, links.anchors))


def light_rounds(pages: Sequence[LoadedPage], most: int = ROUND_WEIGHT) -> Iterator[list[LoadedPage]]:
    """The pages in parts that are no heavier than a round should be, but for a page that is so alone."""
    part: list[LoadedPage] = []
    weight = 0
    for page in pages:
        if part and weight + page_weight(page) > most:
            yield part
            part, weight = [], 0
        part.append(page)
        weight += page_weight(page)
    yield part

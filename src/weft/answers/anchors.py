"""With what words a page is referenced."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from weft.answers.view import View
from weft.linkindex import keys
from weft.model.url import Uri
from weft.store.tables import Table

MOST_INLINKS: Final = 2_000
"""References whose words are counted, the first ones by uri: about 5 µs each."""


class AnchorItem(msgspec.Struct, frozen=True):
    anchor: str
    """As most of these references write it; empty: they have no words, such as images."""
    count: int


class AnchorListing(msgspec.Struct, frozen=True, kw_only=True):
    """The anchor texts of references to a page, the most frequent first. Upper and lower case are one."""

    seq: int
    uri: str
    url: str
    references: int
    items: list[AnchorItem]
    distinct: int
    """How many texts there are, shown or not."""
    looked_at: int
    """How many references were counted."""
    complete: bool
    """False: there are more references."""
    counting: str


def anchor_items(anchors: Iterable[str]) -> list[AnchorItem]:
    """All of them, the most frequent first; equals by their words."""
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for anchor in anchors:
        forms[anchor.casefold()][anchor] += 1
    found = [AnchorItem(_most_frequent(written), written.total()) for written in forms.values()]
    return sorted(found, key=lambda item: (-item.count, item.anchor))


def first_anchors(view: View, target: Uri) -> tuple[list[str], bool]:
    """The words of the first references, and whether these are all."""
    cells = view.reader.scan(Table.QUERY, b"p:" + target.encode(), keys.INLINKS, limit=MOST_INLINKS + 1)
    anchors = [cell.value.decode() for cell in cells]
    return anchors[:MOST_INLINKS], len(anchors) <= MOST_INLINKS


def _most_frequent(written: Counter[str]) -> str:
    return min(written, key=lambda form: (-written[form], form))

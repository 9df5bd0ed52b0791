"""PageLoader: which of the pages that came in are news."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from weft.linkindex.loaded import LoadedPage
from weft.linkindex.records import GONE_CONTENT, Version


@dataclass(slots=True)
class SortedPages:
    """Pages by what they do to the index."""

    changed: list[LoadedPage] = field(default_factory=list)
    unchanged: list[LoadedPage] = field(default_factory=list)
    """The same content again: only the version moves, so that a late page between the two still loses."""
    ignored: int = 0
    """Not newer than what is known."""


def newest(pages: Iterable[LoadedPage]) -> dict[bytes, LoadedPage]:
    """The newest version of each page, whatever the order they came in."""
    best: dict[bytes, LoadedPage] = {}
    for page in pages:
        other = best.setdefault(page.uri, page)
        if page.version > other.version:
            best[page.uri] = page
    return best


def sort_out(best: Mapping[bytes, LoadedPage], known: Mapping[bytes, Version]) -> SortedPages:
    """Compare the newest versions that came in with the known ones."""
    sorted_out = SortedPages()
    for uri, page in best.items():
        version = known.get(uri)
        if version is not None and page.version <= version:
            sorted_out.ignored += 1
        elif (version.content if version else GONE_CONTENT) == page.version.content:
            sorted_out.unchanged.append(page)
        else:
            sorted_out.changed.append(page)
    return sorted_out

"""PageObserver: the difference between two versions of a page, as changes of references."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from weft.linkindex.loaded import NO_OUTLINKS, LoadedPage, Outlinks
from weft.linkindex.updates import LinkChange


class Before(NamedTuple):
    """What a page said until now, and since when it says each thing."""

    outlinks: Outlinks = NO_OUTLINKS
    since: Sequence[int] = ()


NOTHING_BEFORE = Before()


class PageDifference(NamedTuple):
    changes: list[LinkChange]
    since: list[int]
    """For each outlink of the new version, when it first appeared."""


def difference(page: LoadedPage, before: Before) -> PageDifference:
    """Say what changes when `page` takes the place of `before`."""
    if not before.outlinks.targets:
        return _all_new(page)
    return _compared(page, before)


def _all_new(page: LoadedPage) -> PageDifference:
    links, at = page.outlinks, page.version.fetched
    changes = zip(
        *(links.targets, links.domains, repeat(page.uri), repeat(1), map(int, links.plain), links.anchors, repeat(at)),
        strict=False,
    )
    return PageDifference(list(changes), [at] * len(links.targets))


def _compared(page: LoadedPage, before: Before) -> PageDifference:
    old = before.outlinks
    at = page.version.fetched
    position = {target: number for number, target in enumerate(old.targets)}
    changes: list[LinkChange] = []
    since: list[int] = []
    for target, domain, anchor, plain in zip(*page.outlinks, strict=True):
        was = position.pop(target, None)
        since.append(at if was is None else before.since[was])
        if was is None:
            changes.append((target, domain, page.uri, 1, int(plain), anchor, at))
        elif anchor != old.anchors[was] or plain != old.plain[was]:
            changes.append((target, domain, page.uri, 0, plain - old.plain[was], anchor, at))
    for target, was in position.items():
        changes.append((target, old.domains[was], page.uri, -1, -int(old.plain[was]), old.anchors[was], at))
    return PageDifference(changes, since)

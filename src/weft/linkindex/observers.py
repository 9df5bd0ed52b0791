"""The observers, pure functions of values: what the pages of a round change, from pages to uris to domains.

PageLoader finds the pages that are news, PageObserver the references that differ from before, UriObserver the new info
of each uri, and DomainObserver that of each domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

from weft.linkindex.keys import base_of
from weft.linkindex.loaded import NO_OUTLINKS, LoadedPage, Outlinks
from weft.linkindex.records import (
    GONE_CONTENT,
    UNKNOWN_DOMAIN,
    UNKNOWN_URI,
    DomainInfo,
    Totals,
    UriInfo,
    Version,
)
from weft.linkindex.updates import DomainUpdate, LinkChange, UriUpdate

# PageLoader


@dataclass(slots=True)
class SortedPages:
    """Pages by what they do to the index."""

    changed: list[LoadedPage] = field(default_factory=list)
    unchanged: list[LoadedPage] = field(default_factory=list)
    """The same content again: only the version moves, so that a late page between the two still loses."""
    ignored: int = 0
    """Not newer than what is known."""


class NewestPages(NamedTuple):
    best: dict[bytes, LoadedPage]
    """The newest version of each page."""
    moved: dict[bytes, Version]
    """Of pages that were seen again: the version that stands, its time moved."""


def newest(pages: Iterable[LoadedPage], known: Mapping[bytes, Version]) -> NewestPages:
    """The newest version of each page, whatever the order they came in.

    Only pages that were seen again depend on it: they confirm what stands when they come.
    """
    best: dict[bytes, LoadedPage] = {}
    moved: dict[bytes, Version] = {}
    for page in pages:
        uri = page.uri
        if page.same_since is not None:
            _confirm(page, page.same_since, best.get(uri), known.get(uri), moved)
        elif uri not in moved:
            other = best.setdefault(uri, page)
            if page.version > other.version:
                best[uri] = page
        elif page.version > moved[uri]:
            best[uri] = page
            del moved[uri]
    return NewestPages(best, moved)


def _confirm(
    page: LoadedPage, since: int, loaded: LoadedPage | None, known: Version | None, moved: dict[bytes, Version]
) -> None:
    versions = [version for version in (moved.get(page.uri), loaded and loaded.version, known) if version]
    standing = max(versions, default=None)
    if standing and standing.content != GONE_CONTENT and since <= standing.fetched < page.version.fetched:
        moved[page.uri] = Version(page.version.fetched, standing.content)


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


# PageObserver


class PageBefore(NamedTuple):
    """What a page said until now, and since when it says each thing."""

    outlinks: Outlinks = NO_OUTLINKS
    since: Sequence[int] = ()
    title: bytes = b""


NOTHING_BEFORE = PageBefore()


class PageDifference(NamedTuple):
    changes: list[LinkChange]
    since: list[int]
    """For each outlink of the new version, when it first appeared."""


def page_difference(page: LoadedPage, before: PageBefore) -> PageDifference:
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


def _compared(page: LoadedPage, before: PageBefore) -> PageDifference:
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


# UriObserver


@dataclass(slots=True)
class UriDelta:
    """By how much a uri's info changes."""

    domain: bytes
    references: int = 0
    plain: int = 0
    docs: int = 0


def combine_uris(changes: Iterable[LinkChange]) -> dict[bytes, UriDelta]:
    """All changes of a round, per target; `changes` must be sorted by target, and this sees every link."""
    deltas: dict[bytes, UriDelta] = {}
    current, domain, references, plain = b"", b"", 0, 0
    for target, of, _, step, http, _, _ in changes:
        if target == current:
            references += step
            plain += http
        else:
            if current:
                deltas[current] = UriDelta(domain, references, plain)
            current, domain, references, plain = target, of, step, http
    if current:
        deltas[current] = UriDelta(domain, references, plain)
    return deltas


def add_docs(deltas: dict[bytes, UriDelta], uri: bytes, domain: bytes, step: int) -> None:
    """Add a page whose content came (+1) or went (-1); beside a reference to itself, not in its place."""
    deltas.setdefault(uri, UriDelta(domain)).docs += step


def observe_uris(deltas: Mapping[bytes, UriDelta], known: Mapping[bytes, UriInfo]) -> list[UriUpdate]:
    """The uris whose info changes, from what it was to what it is."""
    updates: list[UriUpdate] = []
    make = tuple.__new__
    for uri, delta in deltas.items():
        before = known.get(uri, UNKNOWN_URI)
        # Past the NamedTuple's own constructor, which takes five times as long.
        after = make(UriInfo, (before[0] + delta.references, before[1] + delta.plain, before[2] + delta.docs))
        if after != before:
            updates.append((uri, delta.domain, before, after))
    return updates


# DomainObserver


def combine_domains(updates: Iterable[UriUpdate]) -> dict[bytes, DomainInfo]:
    """By how much each domain changes; one that does not is not there."""
    pages: dict[bytes, int] = {}
    references: dict[bytes, int] = {}
    for _, domain, before, after in updates:
        (was, _, had_docs), (now, _, docs) = before, after
        pages[domain] = pages.get(domain, 0) + bool(now or docs) - bool(was or had_docs)
        references[domain] = references.get(domain, 0) + now - was
    return {d: DomainInfo(pages[d], references[d]) for d in pages if pages[d] or references[d]}


def observe_domains(deltas: Mapping[bytes, DomainInfo], known: Mapping[bytes, DomainInfo]) -> list[DomainUpdate]:
    updates: list[DomainUpdate] = []
    for domain, delta in deltas.items():
        before = known.get(domain, UNKNOWN_DOMAIN)
        after = DomainInfo(before.pages + delta.pages, before.references + delta.references)
        updates.append((domain, before, after))
    return updates


def observe_totals(updates: Iterable[DomainUpdate], known: Mapping[int, Totals]) -> dict[int, Totals]:
    """The totals of each base in which a domain changed."""
    sums: dict[int, list[int]] = {}
    for domain, was, is_now in updates:
        base = base_of(domain)
        total = sums.get(base)
        if total is None:
            total = sums[base] = list(known.get(base, Totals()))
        total[0] += bool(is_now[0]) - bool(was[0])
        total[1] += is_now[0] - was[0]
        total[2] += is_now[1] - was[1]
    return {base: Totals(*total) for base, total in sums.items()}

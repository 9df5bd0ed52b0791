"""From pages in the order of their scores to results: what says the same is one result, and a domain does not flood."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from weft.errors import UsageError
from weft.linkindex.near_duplicates import folded as folded_into

_PAGE_NUMBER: Final = re.compile("[1-9][0-9]{0,8}")


class Candidate(NamedTuple):
    """A page that matches. Hashes have 64 bits."""

    score: float
    key: int
    """Hash of its uri."""
    group: int
    """Hash of the uri of its canonical page; `key` if that is the page itself."""
    simhash: int
    """0: it has none, and is like no other page."""
    domain: int
    references: int


class Folded(NamedTuple):
    candidate: Candidate
    folded: int
    """Candidates besides the shown one that say the same."""


class ResultPage(NamedTuple):
    items: list[Folded]
    next: str | None
    prev: str | None
    is_full: bool
    """False: if the list had been longer, more might stand here. What stands here would still do so, in this order."""


def fold(candidates: Iterable[Candidate]) -> list[Folded]:
    """Candidates that name the same canonical page, or say nearly the same, become one result each.

    A result stands where the best of them stood. Of a group the canonical page is shown if it is a candidate.
    """
    groups: dict[int, dict[int, Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.group, {}).setdefault(candidate.key, candidate)
    shown = [members.get(group) or next(iter(members.values())) for group, members in groups.items()]
    counts: Counter[int] = Counter()
    for keeper, members in zip(folded_into(one.simhash for one in shown), groups.values(), strict=True):
        counts[keeper] += len(members)
    return [Folded(shown[keeper], count - 1) for keeper, count in sorted(counts.items())]


def page_of(folded: Sequence[Folded], limit: int, per_domain: int, after: str | None) -> ResultPage:
    """One page of at most `limit` results, at most `per_domain` of one domain (0: any number).

    What a page leaves out comes on the pages behind it. `after` is the `next` or `prev` of another page, or None for
    the first one; raises UsageError if it is neither.
    """
    number = _page_number(after)
    pages = _cut(folded, limit, per_domain)
    items = pages[number - 1] if number <= len(pages) else []
    return ResultPage(
        items,
        next=str(number + 1) if number < len(pages) else None,
        prev=str(max(1, min(number - 1, len(pages)))) if number > 1 else None,
        is_full=len(items) >= limit,
    )


def _page_number(cursor: str | None) -> int:
    if cursor is None:
        return 1
    if not _PAGE_NUMBER.fullmatch(cursor):
        raise UsageError("this cursor is not one of a search; expected the `next` or `prev` of a page of results")
    return int(cursor)


def _cut(folded: Sequence[Folded], limit: int, per_domain: int) -> list[list[Folded]]:
    """Each result goes to the first page that has room for it: what comes later never moves it."""
    pages: list[list[Folded]] = []
    of_domain: defaultdict[int, Counter[int]] = defaultdict(Counter)
    first_open: defaultdict[int, int] = defaultdict(int)
    full = 0
    for result in folded:
        domain = result.candidate.domain
        at, on_page = max(full, first_open[domain]), of_domain[domain]
        while at < len(pages) and (len(pages[at]) >= limit or 0 < per_domain <= on_page[at]):
            at += 1
        if at == len(pages):
            pages.append([])
        pages[at].append(result)
        on_page[at] += 1
        # No page before this one takes this domain any more; a page that is full takes none.
        first_open[domain] = at
        while full < len(pages) and len(pages[full]) >= limit:
            full += 1
    return pages

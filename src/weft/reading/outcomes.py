"""What a response does to its page: the one table for crawl, import and `weft verify --archive`."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GONE: Final = frozenset({404, 410})
_PARTIAL: Final = 206
NOT_MODIFIED: Final = 304


class Leads(StrEnum):
    """Where the Location of a redirect leads."""

    NOWHERE = "nowhere"
    """There is no Location."""
    TO_ITSELF = "to itself"
    """To another URL of the same uri, as from http to https."""
    ELSEWHERE = "elsewhere"
    TO_NO_PAGE = "to no page"
    """To what weft cannot fetch: mailto:, a URL that does not parse."""


class BodyKind(StrEnum):
    """What a body is to the index."""

    PAGE = "page"
    LISTING = "listing"
    """A sitemap or feed: it names pages and is none."""
    OTHER = "other"
    """Nothing that weft reads."""


class Effect(StrEnum):
    """What happens to the page in the index."""

    REPLACE = "replace"
    REMOVE = "remove"
    KEEP = "keep"


class PageOutcome(StrEnum):
    """What a response says about the page that was asked for."""

    PAGE = "page"
    LISTING = "listing"
    OTHER = "other"
    SAME = "same"
    MOVED = "moved"
    SELF_REDIRECT = "self redirect"
    BAD_REDIRECT = "bad redirect"
    GONE = "gone"
    FAILING = "failing"
    """Any other status: nothing is known that was not known before."""


_OF_BODY: Final = {
    BodyKind.PAGE: PageOutcome.PAGE,
    BodyKind.LISTING: PageOutcome.LISTING,
    BodyKind.OTHER: PageOutcome.OTHER,
}
_OF_REDIRECT: Final = {
    Leads.NOWHERE: PageOutcome.FAILING,
    Leads.TO_ITSELF: PageOutcome.SELF_REDIRECT,
    Leads.ELSEWHERE: PageOutcome.MOVED,
    Leads.TO_NO_PAGE: PageOutcome.BAD_REDIRECT,
}
_EFFECTS: Final = {
    PageOutcome.PAGE: Effect.REPLACE,
    PageOutcome.LISTING: Effect.REMOVE,
    PageOutcome.OTHER: Effect.REMOVE,
    PageOutcome.SAME: Effect.KEEP,
    PageOutcome.MOVED: Effect.REMOVE,
    PageOutcome.SELF_REDIRECT: Effect.KEEP,
    PageOutcome.BAD_REDIRECT: Effect.KEEP,
    PageOutcome.GONE: Effect.REMOVE,
    PageOutcome.FAILING: Effect.KEEP,
}


def outcome_of(status: int, leads: Leads, body: BodyKind) -> PageOutcome:
    """`leads` counts for redirects alone, `body` for successes alone."""
    if is_success(status):
        return _OF_BODY[body]
    if is_redirect(status):
        return _OF_REDIRECT[leads]
    if status in _GONE:
        return PageOutcome.GONE
    return PageOutcome.SAME if status == NOT_MODIFIED else PageOutcome.FAILING


def effect_of(outcome: PageOutcome, *, bad_redirect_removes: bool) -> Effect:
    if outcome is PageOutcome.BAD_REDIRECT and bad_redirect_removes:
        return Effect.REMOVE
    return _EFFECTS[outcome]


def is_success(status: int) -> bool:
    """Whether the body is what the URL names; a part of it is not."""
    return 200 <= status < 300 and status != _PARTIAL


def is_redirect(status: int) -> bool:
    return status in _REDIRECTS

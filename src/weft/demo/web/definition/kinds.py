"""What can stand behind a URL of a synthetic web."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class PageKind(StrEnum):
    """A resource's nature; its number within the host decides it for good."""

    PAGE = "page"
    ORPHAN = "orphan"
    CLOSED = "closed"
    OPENED = "opened"
    MOVED = "moved"
    MOVED_AWAY = "moved_away"
    CHAIN = "chain"
    LOOP = "loop"
    FORBIDDEN = "forbidden"
    MISSING = "missing"
    GONE = "gone"
    FAILING = "failing"
    LIMITED = "limited"
    UNAVAILABLE = "unavailable"
    RECOVERING = "recovering"
    SLOW = "slow"
    IMAGE = "image"
    DOCUMENT = "document"
    TEXT = "text"
    ENDLESS = "endless"
    ENDLESS_HEADERS = "endless_headers"
    SILENT = "silent"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    RESET = "reset"
    BOMB = "bomb"
    # Without a number of their own:
    CALENDAR = "calendar"
    DEEP = "deep"
    STYLE = "style"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    TO_SECURE = "to_secure"
    OVERLOADED = "overloaded"
    UNKNOWN = "unknown"
    UNKNOWN_HOST = "unknown_host"
    BAD_REQUEST = "bad_request"


SHARE_OF_KIND: Final = {
    PageKind.MOVED: "moved",
    PageKind.MOVED_AWAY: "moved_away",
    PageKind.CHAIN: "chains",
    PageKind.LOOP: "loops",
    PageKind.FORBIDDEN: "forbidden",
    PageKind.MISSING: "missing",
    PageKind.GONE: "gone",
    PageKind.FAILING: "failing",
    PageKind.LIMITED: "limited",
    PageKind.UNAVAILABLE: "unavailable",
    PageKind.RECOVERING: "recovering",
    PageKind.SLOW: "slow",
    PageKind.IMAGE: "images",
    PageKind.DOCUMENT: "documents",
    PageKind.TEXT: "texts",
    PageKind.ENDLESS: "endless",
    PageKind.ENDLESS_HEADERS: "endless_headers",
    PageKind.SILENT: "silent",
    PageKind.TOO_SHORT: "too_short",
    PageKind.TOO_LONG: "too_long",
    PageKind.RESET: "resets",
    PageKind.BOMB: "bombs",
}
"""Which share of the profile tells how many of a kind there are for each page."""

HTML: Final = frozenset(
    {PageKind.PAGE, PageKind.ORPHAN, PageKind.CLOSED, PageKind.OPENED, PageKind.SLOW, PageKind.RECOVERING}
)
"""Kinds that are pages with links of their own, once they are answered."""

ERRORS: Final = {
    PageKind.FORBIDDEN: 403,
    PageKind.MISSING: 404,
    PageKind.GONE: 410,
    PageKind.FAILING: 500,
    PageKind.LIMITED: 429,
    PageKind.UNAVAILABLE: 503,
}

"""What can stand behind a URL of a synthetic web."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Kind(StrEnum):
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
    Kind.MOVED: "moved",
    Kind.MOVED_AWAY: "moved_away",
    Kind.CHAIN: "chains",
    Kind.LOOP: "loops",
    Kind.FORBIDDEN: "forbidden",
    Kind.MISSING: "missing",
    Kind.GONE: "gone",
    Kind.FAILING: "failing",
    Kind.LIMITED: "limited",
    Kind.UNAVAILABLE: "unavailable",
    Kind.RECOVERING: "recovering",
    Kind.SLOW: "slow",
    Kind.IMAGE: "images",
    Kind.DOCUMENT: "documents",
    Kind.TEXT: "texts",
    Kind.ENDLESS: "endless",
    Kind.ENDLESS_HEADERS: "endless_headers",
    Kind.SILENT: "silent",
    Kind.TOO_SHORT: "too_short",
    Kind.TOO_LONG: "too_long",
    Kind.RESET: "resets",
    Kind.BOMB: "bombs",
}
"""Which share of the profile tells how many of a kind there are for each page."""

HTML: Final = frozenset({Kind.PAGE, Kind.ORPHAN, Kind.CLOSED, Kind.OPENED, Kind.SLOW, Kind.RECOVERING})
"""Kinds that are pages with links of their own, once they are answered."""

ERRORS: Final = {
    Kind.FORBIDDEN: 403,
    Kind.MISSING: 404,
    Kind.GONE: 410,
    Kind.FAILING: 500,
    Kind.LIMITED: 429,
    Kind.UNAVAILABLE: 503,
}

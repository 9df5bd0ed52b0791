"""What becomes of a fetch."""

from __future__ import annotations

from enum import StrEnum


class Fate(StrEnum):
    """`page`: HTML with status 200. `other`: content that is no HTML. `fault`: no usable answer comes at all.

    `hostile`: what becomes of it depends on the crawler's limits. `closed`: robots.txt forbids it.
    """

    PAGE = "page"
    REDIRECT = "redirect"
    ERROR = "error"
    OTHER = "other"
    SITEMAP = "sitemap"
    FAULT = "fault"
    HOSTILE = "hostile"
    CLOSED = "closed"

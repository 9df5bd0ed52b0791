"""What a page is to people: one word for everything that fetching its URL may have come to."""

from __future__ import annotations

from enum import StrEnum


class PageState(StrEnum):
    PAGE = "page"
    """Its content is in the index."""
    FILE = "file"
    """It was fetched, and is no page: an image, an archive, a sitemap."""
    REDIRECT = "redirect"
    """It leads to another page."""
    GONE = "gone"
    """Its server says that there is none (404, 410), or it was deleted."""
    FAILING = "failing"
    """The last tries to fetch it failed; what an earlier one found may be in the index."""
    REFUSED = "refused"
    """weft does not fetch it, by its settings or by robots.txt."""
    NOT_FETCHED = "not fetched yet"

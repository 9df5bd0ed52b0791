"""Sitemaps and feeds: the URLs that they list, and since when each is as it is."""

from __future__ import annotations

from weft.intake.sitemaps.kinds import ListingKind, kind_of, unpacked
from weft.intake.sitemaps.reading import Entry, Listing, read_listing

__all__ = ["Entry", "Listing", "ListingKind", "is_listing", "kind_of", "read_listing", "unpacked"]


def is_listing(content_type: str, url: str, body: bytes) -> bool:
    """Whether a response is a sitemap or a feed."""
    return kind_of(content_type, url, body) is not None

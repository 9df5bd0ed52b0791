"""Sitemaps and feeds: the URLs that they list."""

from __future__ import annotations

from functools import partial
from typing import Final

from weft.archive.body_decoding import DecodeLimits
from weft.reading.listing_entries import UrlListing, read_listing
from weft.reading.listing_kinds import ListingKind, kind_of, unpacked
from weft.reading.outcomes import BodyKind
from weft.reading.response_body import Body, BodyType, ReadBody
from weft.reading.settings import ReadingSettings


def _recognise(body: Body) -> ReadBody | None:
    kind = kind_of(body.content_type, body.url, body.data)
    return None if kind is None else partial(_read, body, kind)


def _read(body: Body, kind: ListingKind, settings: ReadingSettings) -> UrlListing:
    limits = settings.limits
    text = unpacked(body.data, DecodeLimits(size=limits.sitemap_bytes, ratio=limits.body_ratio))
    return read_listing(text, kind, limits.sitemap_entries)


LISTING: Final = BodyType(BodyKind.LISTING, _recognise)

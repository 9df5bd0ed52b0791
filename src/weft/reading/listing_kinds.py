"""Which responses are sitemaps or feeds: by their root element, or text files that are named like a sitemap."""

from __future__ import annotations

import codecs
import re
from enum import StrEnum
from typing import Final

from isal import isal_zlib

from weft.archive.archive_errors import GzipError
from weft.archive.body_decoding import DecodeLimits, decode

_ROOT: Final = re.compile(rb"<((?:[\w.-]{1,32}:)?)(urlset|sitemapindex|rss|feed|rdf)\b", re.IGNORECASE)
_LOOK: Final = 4096
"""Bytes in which a listing must say what it is."""
_GZIP: Final = b"\x1f\x8b"
_XML_TYPES: Final = ("xml", "rss", "atom")
_WIDE: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class ListingKind(StrEnum):
    PAGES = "urlset"
    INDEX = "sitemapindex"
    RSS = "rss"
    ATOM = "feed"
    RDF = "rdf"
    TEXT = "text"

    @property
    def is_sitemap(self) -> bool:
        """Of sitemaps, which speak for their own site alone; a feed may name pages of others."""
        return self in (ListingKind.PAGES, ListingKind.INDEX, ListingKind.TEXT)


def kind_of(content_type: str, url: str, body: bytes) -> ListingKind | None:
    """None: it is no listing."""
    media = content_type.partition(";")[0].strip().lower()
    beginning = _beginning(body)
    root = _ROOT.search(beginning)
    if root:
        may_be = not media or any(name in media for name in _XML_TYPES) or media.startswith(("text/", "application/"))
        return ListingKind(root[2].decode().lower()) if may_be else None
    name = url.partition("?")[0].lower().rsplit("/", 1)[-1]
    is_text = media == "text/plain" or (body.startswith(_GZIP) and name.endswith(".txt.gz"))
    return ListingKind.TEXT if is_text and name.startswith("sitemap") else None


def prefix_of(body: bytes) -> bytes:
    """The prefix of the root's name, with its colon: what is of the listing itself has the same."""
    root = _ROOT.search(body[:_LOOK])
    return root[1] if root else b""


def unpacked(body: bytes, limits: DecodeLimits) -> bytes:
    """A listing as UTF-8, out of its gzip file if it is one; raises BodyRefused."""
    return _as_utf8(decode(body, "gzip", limits).data if body.startswith(_GZIP) else body)


def _beginning(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return _as_utf8(body[:_LOOK])
    try:
        return _as_utf8(isal_zlib.decompressobj(31).decompress(body, _LOOK))
    except GzipError:
        return b""


def _as_utf8(body: bytes) -> bytes:
    encoding = _WIDE.get(body[:2])
    if encoding is None:
        return body.removeprefix(codecs.BOM_UTF8)
    return body[2:].decode(encoding, "replace").encode("utf-8", "replace")

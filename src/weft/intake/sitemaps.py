"""Sitemaps and feeds: the URLs that they list."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

_LOCATION: Final = re.compile(
    rb"<(?:[\w.-]{1,32}:)?loc\b[^>]{0,500}>\s*(?:<!\[CDATA\[)?\s*([^<\]]{1,4096})", re.IGNORECASE
)
_FEED_LINK: Final = re.compile(rb"<link\b[^>]{0,500}?\bhref\s*=\s*[\"']([^\"']{1,4096})", re.IGNORECASE)
_FEED_TEXT: Final = re.compile(rb"<link\b[^>]{0,100}>\s*(?:<!\[CDATA\[)?\s*([^<\]\s]{1,4096})", re.IGNORECASE)
_ROOT: Final = re.compile(rb"<(?:[\w.-]{1,32}:)?(urlset|sitemapindex|rss|feed)\b", re.IGNORECASE)
_XML_TYPES: Final = ("xml", "rss", "atom")
_LOOK: Final = 4096
"""Bytes in which a listing must say what it is."""


def is_listing(content_type: str, url: str, body: bytes) -> bool:
    """Whether a response is a sitemap or a feed: by its root element, or a text file that is named like a sitemap."""
    kind = content_type.partition(";")[0].strip().lower()
    if _ROOT.search(body[:_LOOK]):
        return not kind or any(name in kind for name in _XML_TYPES) or kind.startswith(("text/", "application/"))
    path = url.partition("?")[0].lower()
    return kind == "text/plain" and path.rsplit("/", 1)[-1].startswith("sitemap")


def locations(body: bytes, most: int) -> list[str]:
    """The URLs of a listing as they are written, each once, at most `most`."""
    root = _ROOT.search(body[:_LOOK])
    if root is None:
        found = (line.strip() for line in body.removeprefix(b"\xef\xbb\xbf").splitlines())
        return _distinct([line for line in found if line.startswith((b"http://", b"https://"))], most)
    if root[1].lower() in (b"urlset", b"sitemapindex"):
        return _distinct(_LOCATION.findall(body), most)
    return _distinct([*_FEED_LINK.findall(body), *_FEED_TEXT.findall(body)], most)


def _distinct(found: list[bytes], most: int) -> list[str]:
    texts = dict.fromkeys(unescape(url.decode("utf-8", "replace")).strip() for url in found)
    return list(texts)[:most]

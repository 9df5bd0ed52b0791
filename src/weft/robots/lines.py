"""The lines of a robots.txt that say something, whatever its encoding, line ends and spelling."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

LIMIT: Final = 500 * 1024
"""Bytes of a file that are read unless told otherwise; RFC 9309 wants at least so many."""
_LONGEST_TEXT: Final = 200
_WIDE_MARKS: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class LineKey(Enum):
    USER_AGENT = auto()
    ALLOW = auto()
    DISALLOW = auto()
    CRAWL_DELAY = auto()
    SITEMAP = auto()


# Misspellings that occur in the wild are read as they are meant: a site that misspells a prohibition still prohibits.
_KEYS: Final = {
    LineKey.USER_AGENT: "user-agent, useragent, user agent, user_agent, user-agents, useg-agent, usr-agent",
    LineKey.ALLOW: "allow",
    LineKey.DISALLOW: "disallow, dissallow, dissalow, disalow, diasllow, disallaw, desallow, dis-allow, disallows",
    LineKey.CRAWL_DELAY: "crawl-delay, crawl delay, crawldelay, crawl_delay",
    LineKey.SITEMAP: "sitemap, site-map",
}
_KEY_OF: Final = {spelling.encode(): key for key, spellings in _KEYS.items() for spelling in spellings.split(", ")}


class RobotsLine(NamedTuple):
    number: int
    key: LineKey
    value: bytes
    text: str
    """The line as it stands, shortened, for people."""


def lines_of(body: bytes, limit: int = LIMIT) -> Iterator[RobotsLine]:
    for number, raw in enumerate(_narrow(_cut(body, limit)).splitlines(), 1):
        name, value = _split(raw.partition(b"#")[0])
        key = _KEY_OF.get(name.lower())
        if key is not None:
            yield RobotsLine(number, key, value, _readable(raw))


def _cut(body: bytes, limit: int) -> bytes:
    """The first `limit` bytes; a line that is cut in two would say something else, so its beginning goes too."""
    if len(body) <= limit or body[limit : limit + 1] in b"\r\n":
        return body[:limit]
    kept = body[:limit]
    return kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]


def _narrow(body: bytes) -> bytes:
    """UTF-8 without a mark and without NUL, which pads torn files and fills those of 16 bits that lack a mark."""
    wide = _WIDE_MARKS.get(body[:2])
    if wide:
        body = body[2:].decode(wide, errors="replace").encode()
    return body.removeprefix(codecs.BOM_UTF8).replace(b"\0", b"")


def _split(line: bytes) -> tuple[bytes, bytes]:
    """Name and value; where the colon was forgotten, a line of two words is one of each."""
    name, colon, value = line.partition(b":")
    if colon:
        return name.strip(), value.strip()
    words = line.split(None, 2)
    return (words[0], words[1]) if len(words) == 2 else (b"", b"")


def _readable(raw: bytes) -> str:
    text = raw[: 4 * _LONGEST_TEXT].decode(errors="replace").strip()
    if len(text) <= _LONGEST_TEXT and text.isprintable():
        return text  # nearly all are
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text.replace("\t", " "))
    return shown if len(shown) <= _LONGEST_TEXT else shown[:_LONGEST_TEXT] + "…"

"""The lines of a robots.txt that say something, whatever its encoding, line ends and spelling."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

LIMIT: Final = 500 * 1024
"""Bytes of a file that are read unless told otherwise; RFC 9309 wants at least so many."""
_LONGEST_TEXT: Final = 200
# White space of Unicode, what takes no room at all, and the no-break space of encodings with one byte a character.
_SPACES: Final = (
    "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\udca0"
)
_ONE_SPACE: Final = dict.fromkeys(map(ord, _SPACES), " ")
_SPACE: Final = re.compile(f"[{_SPACES}]")
_ASCII_SPACE: Final = re.compile(r"[\t\n\v\f\r ]")
# What is left of a mark after a wrong conversion; no name begins with any of these.
_BROKEN_MARK: Final = re.compile(rb"\A([\r\n]*)[\x00-\x09\x0b\x0c\x0e-\x20\x7f-\xff?]+")
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
    """UTF-8 without a mark, broken or not, and without NUL, which pads torn files and fills those of 16 bits that lack
    a mark."""
    wide = _WIDE_MARKS.get(body[:2])
    # Without a single NUL it is no text of 16 bits, whatever its mark says.
    if wide and b"\0" in body:
        body = body[2:].decode(wide, errors="replace").encode()
    return _BROKEN_MARK.sub(rb"\1", body.replace(b"\0", b""))


def _split(line: bytes) -> tuple[bytes, bytes]:
    """Name and value; where the colon was forgotten, a line of two words is one of each."""
    # Bytes that are no UTF-8 are kept as they are.
    text = line.decode(errors="surrogateescape").strip(_SPACES)
    name, colon, value = text.partition(":")
    name = name.rstrip(_SPACES).translate(_ONE_SPACE)
    if not colon or _bytes(name.lower()) not in _KEY_OF:
        name, value = _split_without_colon(text)
    return _bytes(name), _bytes(value.lstrip(_SPACES))


def _split_without_colon(text: str) -> tuple[str, str]:
    space = _SPACE.search(text)
    if space is None:
        return "", ""
    name, value = text[: space.start()], text[space.end() :].lstrip(_SPACES)
    return ("", "") if _ASCII_SPACE.search(value) else (name, value)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _readable(raw: bytes) -> str:
    text = raw[: 4 * _LONGEST_TEXT].decode(errors="replace").strip()
    if len(text) <= _LONGEST_TEXT and text.isprintable():
        return text  # nearly all are
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text.replace("\t", " "))
    return shown if len(shown) <= _LONGEST_TEXT else shown[:_LONGEST_TEXT] + "…"

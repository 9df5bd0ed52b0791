"""What is read out of a page."""

from __future__ import annotations

import msgspec


class FoundLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A link as it is written: entities decoded, white space around it gone, not joined with anything."""

    href: str
    anchor: str = ""
    rel: str = ""


class RobotsDirectives(msgspec.Struct, frozen=True, gc=False):
    """What a page, or the header of its response, asks robots not to do."""

    noindex: bool = False
    nofollow: bool = False

    def __or__(self, other: RobotsDirectives) -> RobotsDirectives:
        return RobotsDirectives(self.noindex or other.noindex, self.nofollow or other.nofollow)


class Refresh(msgspec.Struct, frozen=True, gc=False):
    """Where a page sends its reader after a while; without a url it loads itself again."""

    seconds: int
    url: str = ""


class ParsedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page, read. Absent things are empty; fingerprint and simhash are 0 without a real text."""

    title: str = ""
    description: str = ""
    language: str = ""
    headings: list[str] = []
    h1: str = ""
    """The first heading of the first level that has words."""
    text: str = ""
    """The visible text, a line per block."""
    links: list[FoundLink] = []
    base: str = ""
    canonical: str = ""
    robots: RobotsDirectives = RobotsDirectives()
    refresh: Refresh | None = None
    charset: str = ""
    """The name of the encoding in the WHATWG standard, such as UTF-8 or windows-1252."""
    fingerprint: int = 0
    simhash: int = 0
    cut: list[str] = []
    """Which of `text` and `headings` hit a limit."""

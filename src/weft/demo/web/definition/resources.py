"""From a path to what stands behind it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.paths import hop_of, number_of
from weft.demo.web.definition.traits import Traits

_SESSION: Final = re.compile(r";jsessionid=[^/?;]*")
_SITEMAP: Final = re.compile(r"/sitemap(?:-([0-9]{1,6}))?\.xml(?:\.gz)?")
_CALENDAR: Final = re.compile(r"/calendar/([0-9]{4})/(0[1-9]|1[0-2])/")
_DEEP: Final = re.compile(r"/deep/(?:[a-z]+/)*")


class Resource(NamedTuple):
    """`number` is the resource's number, -1 where the kind has none; `hop` the step within a chain of redirects."""

    kind: PageKind
    number: int = -1
    hop: int = 0


def find(seed: int, host: DemoHost, traits: Traits, path: str) -> Resource:
    if ";" in path:
        path = _SESSION.sub("", path)
    start, hop = hop_of(path)
    number = number_of(seed, host, start)
    if number is not None:
        return Resource(host.layout.kind(number), number, hop)
    if _SITEMAP.fullmatch(path) and traits.has_sitemap:
        return Resource(PageKind.SITEMAP)
    if traits.has_calendar and _CALENDAR.fullmatch(path):
        return Resource(PageKind.CALENDAR)
    if traits.has_deep_trap and _DEEP.fullmatch(path):
        return Resource(PageKind.DEEP)
    return Resource(PageKind.STYLE if path == "/style.css" else PageKind.UNKNOWN)


def sitemap_part(path: str) -> int | None:
    """The number of a part of a sitemap; None for the sitemap itself."""
    match = _SITEMAP.fullmatch(path)
    return int(match[1]) if match and match[1] else None


def month_of(path: str) -> tuple[int, int]:
    match = _CALENDAR.fullmatch(path)
    return (int(match[1]), int(match[2])) if match else (2026, 1)

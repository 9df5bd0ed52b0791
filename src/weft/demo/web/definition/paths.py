"""Where the resources of a host are: from number to path and back."""

from __future__ import annotations

import re
from typing import Final

from weft.demo.web.definition.dice import mixed
from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import PageKind

SECTIONS: Final = ("news", "guides", "archive", "people", "places", "notes", "caf%C3%A9", "products", "history", "blog")
CLOSED_SECTIONS: Final = ("closed", "internal", "priv%C3%A9")
_SLUGS: Final = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "lagoon",
)
_ENDINGS: Final = (".html", ".html", "", "/", ".php")
_NUMBER: Final = re.compile(r"-([0-9]{1,9})(?:\.[a-z]+|/)?\Z")
_HOP: Final = re.compile(r"(/go/(?:chain|loop)-[0-9]{1,9})/([0-9]{1,2})")

_FIXED: Final = {
    PageKind.MOVED: "/go/moved-{}",
    PageKind.MOVED_AWAY: "/go/away-{}",
    PageKind.CHAIN: "/go/chain-{}",
    PageKind.LOOP: "/go/loop-{}",
    PageKind.FORBIDDEN: "/members/entry-{}.html",
    PageKind.MISSING: "/lost/page-{}.html",
    PageKind.GONE: "/old/page-{}.html",
    PageKind.FAILING: "/broken/page-{}.html",
    PageKind.LIMITED: "/busy/limited-{}.html",
    PageKind.UNAVAILABLE: "/busy/unavailable-{}.html",
    PageKind.RECOVERING: "/busy/recovering-{}.html",
    PageKind.SLOW: "/slow/page-{}.html",
    PageKind.IMAGE: "/images/photo-{}.png",
    PageKind.DOCUMENT: "/papers/paper-{}.pdf",
    PageKind.TEXT: "/texts/note-{}.txt",
    PageKind.ENDLESS: "/hostile/endless-{}.html",
    PageKind.ENDLESS_HEADERS: "/hostile/headers-{}.html",
    PageKind.SILENT: "/hostile/silent-{}.html",
    PageKind.TOO_SHORT: "/hostile/short-{}.html",
    PageKind.TOO_LONG: "/hostile/long-{}.html",
    PageKind.RESET: "/hostile/reset-{}.html",
    PageKind.BOMB: "/hostile/bomb-{}.html",
}


def closed_section(host: DemoHost) -> str:
    return CLOSED_SECTIONS[host.number % len(CLOSED_SECTIONS)]


def path_of(seed: int, host: DemoHost, number: int) -> str:
    """The path of a resource, as the URL standard writes it."""
    if number < host.layout.pages:
        return _page_path(mixed(seed, host.number, number), number) if number else "/"
    kind = host.layout.kind(number)
    if kind in _FIXED:
        return _FIXED[kind].format(number)
    bits = mixed(seed, host.number, number)
    if kind is PageKind.ORPHAN:
        return _page_path(bits, number)
    slug = _SLUGS[bits % len(_SLUGS)] if kind is PageKind.CLOSED else "open"
    return f"/{closed_section(host)}/{slug}-{number}.html"


def _page_path(bits: int, number: int) -> str:
    year = f"{2018 + (bits >> 24) % 8}/" if (bits >> 32) % 3 == 0 else ""
    slug, ending = _SLUGS[bits % len(_SLUGS)], _ENDINGS[(bits >> 16) % len(_ENDINGS)]
    return f"/{SECTIONS[(bits >> 8) % len(SECTIONS)]}/{year}{slug}-{number}{ending}"


def number_of(seed: int, host: DemoHost, path: str) -> int | None:
    """Which resource has this path; None when there is none."""
    if path == "/":
        return 0
    match = _NUMBER.search(path)
    if match is None:
        return None
    number = int(match[1])
    return number if number < host.layout.count and path_of(seed, host, number) == path else None


def hop_of(path: str) -> tuple[str, int]:
    """Split `/go/chain-7/2`, the second hop behind `/go/chain-7`; any other path is its own hop 0."""
    match = _HOP.fullmatch(path)
    return (match[1], int(match[2])) if match else (path, 0)

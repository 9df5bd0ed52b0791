"""Where the resources of a host are: from number to path and back."""

from __future__ import annotations

import re
from typing import Final

from weft.demo.web.definition.dice import mixed
from weft.demo.web.definition.hosts import Host
from weft.demo.web.definition.kinds import Kind

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
    Kind.MOVED: "/go/moved-{}",
    Kind.MOVED_AWAY: "/go/away-{}",
    Kind.CHAIN: "/go/chain-{}",
    Kind.LOOP: "/go/loop-{}",
    Kind.FORBIDDEN: "/members/entry-{}.html",
    Kind.MISSING: "/lost/page-{}.html",
    Kind.GONE: "/old/page-{}.html",
    Kind.FAILING: "/broken/page-{}.html",
    Kind.LIMITED: "/busy/limited-{}.html",
    Kind.UNAVAILABLE: "/busy/unavailable-{}.html",
    Kind.RECOVERING: "/busy/recovering-{}.html",
    Kind.SLOW: "/slow/page-{}.html",
    Kind.IMAGE: "/images/photo-{}.png",
    Kind.DOCUMENT: "/papers/paper-{}.pdf",
    Kind.TEXT: "/texts/note-{}.txt",
    Kind.ENDLESS: "/hostile/endless-{}.html",
    Kind.ENDLESS_HEADERS: "/hostile/headers-{}.html",
    Kind.SILENT: "/hostile/silent-{}.html",
    Kind.TOO_SHORT: "/hostile/short-{}.html",
    Kind.TOO_LONG: "/hostile/long-{}.html",
    Kind.RESET: "/hostile/reset-{}.html",
    Kind.BOMB: "/hostile/bomb-{}.html",
}


def closed_section(host: Host) -> str:
    return CLOSED_SECTIONS[host.number % len(CLOSED_SECTIONS)]


def path_of(seed: int, host: Host, number: int) -> str:
    """The path of a resource, as the URL standard writes it."""
    if number < host.layout.pages:
        return _page_path(mixed(seed, host.number, number), number) if number else "/"
    kind = host.layout.kind(number)
    if kind in _FIXED:
        return _FIXED[kind].format(number)
    bits = mixed(seed, host.number, number)
    if kind is Kind.ORPHAN:
        return _page_path(bits, number)
    slug = _SLUGS[bits % len(_SLUGS)] if kind is Kind.CLOSED else "open"
    return f"/{closed_section(host)}/{slug}-{number}.html"


def _page_path(bits: int, number: int) -> str:
    year = f"{2018 + (bits >> 24) % 8}/" if (bits >> 32) % 3 == 0 else ""
    slug, ending = _SLUGS[bits % len(_SLUGS)], _ENDINGS[(bits >> 16) % len(_ENDINGS)]
    return f"/{SECTIONS[(bits >> 8) % len(SECTIONS)]}/{year}{slug}-{number}{ending}"


def number_of(seed: int, host: Host, path: str) -> int | None:
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

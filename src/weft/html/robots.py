"""The wishes of a page about robots: meta elements and X-Robots-Tag headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from weft.html.values import Robots

PRODUCT: Final = "weft"
"""The name by which a page can speak to us alone; see `[spider] user_agent`."""

_NOINDEX: Final = frozenset({"noindex", "none"})
_NOFOLLOW: Final = frozenset({"nofollow", "none"})
_SEPARATOR: Final = re.compile(r"[\s,]+")
# What looks like "agent: directive" and is a directive with a value.
_DIRECTIVES_WITH_VALUE: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview", "content-signal"}
)
_AGENT: Final = re.compile(r"[a-z_-][a-z0-9_-]*")
_ALL_AGENTS: Final = frozenset({"", "*", "robots"})


def robots_in(content: str) -> Robots:
    """The content of a meta element, such as `noindex, nofollow` or `none`."""
    wishes = set(_SEPARATOR.split(content.lower()))
    return Robots(not wishes.isdisjoint(_NOINDEX), not wishes.isdisjoint(_NOFOLLOW))


def robots_in_header(values: Iterable[str], product: str = PRODUCT) -> Robots:
    """The values of all X-Robots-Tag headers; `agent: noindex, nofollow` speaks to that agent alone."""
    wished = Robots()
    listening = _ALL_AGENTS | {product.lower()}
    for value in values:
        agent = ""
        for part in value.lower().split(","):
            name, colon, directive = part.partition(":")
            name = name.strip()
            if not colon:
                directive = part
            elif name in _DIRECTIVES_WITH_VALUE or not _AGENT.fullmatch(name):
                continue
            else:
                agent = name
            if agent in listening:
                wished |= robots_in(directive)
    return wished

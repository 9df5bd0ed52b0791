"""What a page asks of robots and browsers: robots meta elements, X-Robots-Tag headers, and meta refresh."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from weft.html.parsed_page import Refresh, RobotsDirectives

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


def robots_in(content: str) -> RobotsDirectives:
    """The content of a meta element, such as `noindex, nofollow` or `none`."""
    wishes = set(_SEPARATOR.split(content.lower()))
    return RobotsDirectives(not wishes.isdisjoint(_NOINDEX), not wishes.isdisjoint(_NOFOLLOW))


def robots_in_header(values: Iterable[str], product: str = PRODUCT) -> RobotsDirectives:
    """The values of all X-Robots-Tag headers; `agent: noindex, nofollow` speaks to that agent alone."""
    wished = RobotsDirectives()
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


_SPACE: Final = r"[\t\n\f\r ]*"
_TIME: Final = re.compile(rf"{_SPACE}(?:([0-9]{{1,9}})|(?=\.))[0-9.]*(?=[\t\n\f\r ;,]|$){_SPACE}[;,]?{_SPACE}")
_URL: Final = re.compile(rf"url{_SPACE}={_SPACE}", re.IGNORECASE)


def refresh_in(content: str) -> Refresh | None:
    """`5; url=/next` is (5, "/next"); None for what no browser would act on."""
    time = _TIME.match(content)
    if time is None:
        return None
    rest = content[time.end() :]
    named = _URL.match(rest)
    url = rest[named.end() :] if named else rest
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return Refresh(int(time[1] or 0), url.strip())

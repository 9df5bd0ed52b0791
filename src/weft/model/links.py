"""The links of one page, all at once and in columns: the crawler does this more often than anything else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from weft.model.domain import Domain
from weft.model.url import (
    LONGEST_INPUT,
    Origin,
    Uri,
    UrlFault,
    UrlRefused,
    UrlRules,
    make_uri,
    remembered_origin,
    resolve,
    url_at,
)

# Without these the URL standard changes nothing but dot segments, and no path holds parameters to strip.
_ODD_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_~.!$&()*+,=@%/?#:-]")
_LONGEST_PLAIN: Final = 512
_BEFORE_HOST: Final = ("https:", "http:", "")
_BASES_THAT_DO_NOT_COUNT: Final = ("data:", "javascript:")


@dataclass(frozen=True, slots=True)
class PageLinks:
    """A row for each link that weft takes, spread over columns; `positions` says which href it was."""

    positions: list[int]
    urls: list[str]
    uris: list[Uri]
    domains: list[Domain]
    is_http: list[bool]
    refused: Counter[UrlFault]


def join_links(rules: UrlRules, base: str, hrefs: Iterable[str]) -> PageLinks:
    """Where the links of a page lead: each row has the uri that `rules.join(base, href)` gives, and the URL at which
    weft would fetch it, which is the uri in its normal form."""
    locate_plain = _Page(rules, base).locate_plain
    positions: list[int] = []
    found: list[tuple[Origin, str]] = []
    refused: Counter[UrlFault] = Counter()
    for position, href in enumerate(hrefs):
        try:
            found.append(locate_plain(href) or rules.locate(base, href))
        except UrlRefused as refusal:
            refused[refusal.reason] += 1
        else:
            positions.append(position)
    uris = [make_uri(origin, target) for origin, target in found]
    return PageLinks(
        positions,
        # Only escapes make the URL differ from what was written, and most links have none.
        urls=[
            url_at(origin, uri) if "%" in target else origin.url + target
            for (origin, target), uri in zip(found, uris, strict=True)
        ],
        uris=uris,
        domains=[origin.domain for origin, _ in found],
        is_http=[origin.is_http for origin, _ in found],
        refused=refused,
    )


def base_for_links(page_url: str, base_href: str | None) -> str:
    """What a page's links are read against: its first <base href> if that is usable, else its own URL."""
    if base_href is None or len(page_url) + len(base_href) > LONGEST_INPUT:
        return page_url
    base = resolve(base_href, page_url)
    return page_url if base is None or base.startswith(_BASES_THAT_DO_NOT_COUNT) else base


class _Page:
    """What the links of one page share, so that most of them need no parser."""

    def __init__(self, rules: UrlRules, base: str) -> None:
        self._rules, self._base = rules, base
        self._longest_plain = -1
        # The parameters of a base's last segment decide which folder is meant: `/a/..;sid=1` is a file in `/a/`.
        if ";" not in base:
            with suppress(UrlRefused):
                self._remember(*rules.locate(base, ""))

    def _remember(self, origin: Origin, target: str) -> None:
        self._origin, self._target = origin, target
        self._scheme = "http:" if origin.is_http else "https:"
        self._path = target.partition("?")[0]
        self._folder = self._path[: self._path.rindex("/") + 1]
        # A link gains its base or, as `//1` does, 14 characters of scheme, address and `/`: less than two bases.
        room = min(self._rules.max_length, LONGEST_INPUT) - len(self._base) - len(origin.url + target)
        self._longest_plain = min(_LONGEST_PLAIN, room)

    def locate_plain(self, href: str) -> tuple[Origin, str] | None:
        """What `rules.locate(base, href)` gives; None where only the parser can tell."""
        if len(href) > self._longest_plain or _ODD_CHARACTER.search(href):
            return None
        origin: Origin | None = self._origin
        path, mark, query = href.partition("#")[0].partition("?")
        if "//" in path:
            scheme, _, rest = path.partition("//")
            host, _, rest = rest.partition("/")
            origin = remembered_origin(f"{scheme or self._scheme}//{host}") if scheme in _BEFORE_HOST else None
            path = "/" + rest
        elif not path:
            path = self._path
            if not mark:
                return self._origin, self._target
        elif path[0] != "/":
            if ":" in path:
                return None
            path = self._climb(path) if path[0] == "." else self._folder + path
        if origin is None or origin.odd or "/." in path or "%2e" in path or "%2E" in path:
            return None
        return origin, path + self._rules.clean_query(mark + query) if mark else path

    def _climb(self, path: str) -> str:
        folder, path = self._folder, path.removeprefix("./")
        while path.startswith("../"):
            folder, path = folder[: folder.rfind("/", 0, -1) + 1] or "/", path[3:]
        return folder + path

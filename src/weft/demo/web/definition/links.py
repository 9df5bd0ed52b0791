"""The links of a page: where each leads, how it is written, and with what words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from weft.demo.web.definition.dice import Dice, mixed
from weft.demo.web.definition.hosts import DemoHost, Hosts
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.layout import BRANCHES
from weft.demo.web.definition.paths import path_of
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.qualities import Charset, Quality
from weft.demo.web.definition.state import State
from weft.demo.web.definition.traits import Session, Traits
from weft.demo.web.definition.words import language

BASE: Final = "/base/here/"
"""Where the links of pages with a <base> are read from."""
_VARIANTS: Final = ("?lang=en", "?lang=en&lang=en", "?ref=nav&lang=en", "?lang=en&ref=nav")
_VARIANT_SHARE: Final = 0.3
_INSIDE: Final = 0.7
_TO_LEAF: Final = 0.05
_PLAIN_SCHEME: Final = 0.2
_PARTNERS: Final = 4
_NEWEST: Final = 3
"""Links of a page that are others in every version."""
_NOFOLLOW: Final = ("nofollow", "nofollow", "NoFollow", "ugc nofollow", "nofollow noopener")


class PageLink(NamedTuple):
    """`url` is where the link leads, without fragment, as the URL standard writes it; `href` is what the page says."""

    url: str
    href: str
    anchor: str
    rel: str = ""

    @property
    def is_followed(self) -> bool:
        return "nofollow" not in self.rel.lower().split()


class Linker:
    """Knows the whole graph, page by page."""

    def __init__(self, plan: WebPlan, hosts: Hosts, state: State) -> None:
        self._plan, self._hosts, self._state = plan, hosts, state
        self._language = language(plan.seed)
        # Few pages are the targets of most links.
        self._path = lru_cache(maxsize=65_536)(lambda host, number: path_of(plan.seed, self.host(host), number))
        self._origin = lru_cache(maxsize=16_384)(self._make_origin)

    def origin(self, host: DemoHost, *, plain: bool = False) -> str:
        """`http://name:port`; of a secure host https, or with `plain` the http origin that redirects there."""
        return self._origin(host.number, plain)

    def _make_origin(self, number: int, plain: bool) -> str:
        host = self.host(number)
        if host.traits.is_secure and not plain:
            return f"https://{host.name}" + ("" if self._plan.tls_port == 443 else f":{self._plan.tls_port}")
        return f"http://{host.name}" + ("" if self._plan.port == 80 else f":{self._plan.port}")

    def host(self, number: int) -> DemoHost:
        return self._hosts.numbered(number)

    def url(self, host: DemoHost, number: int) -> str:
        return self._origin(host.number, False) + self._path(host.number, number)

    def links(self, host: DemoHost, number: int, version: int, target: str) -> list[PageLink]:
        """What page `number` says in `version` when it is asked for as `target` (path and query)."""
        dice = Dice(self._plan.seed, "links", host.number, number)
        newest = Dice(self._plan.seed, "newest", host.number, number, version)
        quality = self._state.quality(host.number, number)
        source = self._source(host, number, target, quality)
        count = dice.between(*self._plan.links)
        older = [*self._fixed(host, number, dice), *self._random(host, dice, max(0, count - _NEWEST))]
        found = [self._link(source, to, which, dice) for to, which in older]
        newer = self._random(host, newest, min(count, _NEWEST))
        found += [self._link(source, to, which, newest) for to, which in newer]
        for _ in range(len(found) // 12):
            found.append(dice.pick(found)._replace(anchor=dice.pick(source.anchors)))
        if number % 4 == 1 and not quality.has_base:
            found.append(PageLink(source.origin + target, "#top", "top"))
        if number == 0:
            found += [PageLink(source.origin + path, path, name) for path, name in trap_entries(host.traits)]
        return found

    def _source(self, host: DemoHost, number: int, target: str, quality: Quality) -> _Source:
        is_ascii = quality.charset is not Charset.RIGHT
        anchors = self._language.plain_anchors if is_ascii else self._language.anchors
        folder = BASE if quality.has_base else folder_of(target)
        has_own_ways = host.traits.has_variants or host.traits.session is not Session.NONE
        return _Source(host, number, self.origin(host), folder, anchors, is_ascii, _session_in(target), has_own_ways)

    def _fixed(self, host: DemoHost, number: int, dice: Dice) -> Iterator[tuple[DemoHost, int]]:
        """Home, the page above, those below, the leaves; from the first page also other hosts."""
        layout = host.layout
        yield host, 0
        if layout.kind(number) is not PageKind.PAGE:
            return
        yield host, (number - 1) // BRANCHES if number else 0
        yield from ((host, child) for child in layout.children(number))
        yield from ((host, leaf) for leaf in layout.leaves_of(number))
        if number == 0:
            first = host.number * _PARTNERS + 1
            partners = [*range(first, first + _PARTNERS), dice.below(len(self._hosts))]
            yield from ((self._hosts.numbered(partner), 0) for partner in partners if partner < len(self._hosts))

    def _random(self, host: DemoHost, dice: Dice, count: int) -> Iterator[tuple[DemoHost, int]]:
        for _ in range(count):
            to = host if dice.chance(_INSIDE) else self._hosts.numbered(dice.zipf(len(self._hosts)))
            layout = to.layout
            if layout.leaves and dice.chance(_TO_LEAF):
                yield to, layout.leaf(dice.zipf(layout.leaves))
            else:
                yield to, dice.zipf(layout.pages)

    def _link(self, source: _Source, to: DemoHost, number: int, dice: Dice) -> PageLink:
        path = self._path(to.number, number)
        if to is source.host:
            if source.has_own_ways and number < to.layout.pages:
                path = self._decorated(source, path, dice)
            origin = source.origin
        else:
            origin = self._origin(to.number, False)
        if to.traits.is_secure and dice.chance(_PLAIN_SCHEME):
            origin = self._origin(to.number, True)
        bits = dice.bits()
        if origin == source.origin:
            href = _WAYS[bits & 31](source, path)
        else:
            href = _across(bits, source.origin, origin + path)
        if bits >> 8 & 15 == 0:
            href += f"#part{bits >> 12 & 7}"
        if bits >> 16 & 31 == 0:
            href += " "
        share = self._plan.profile.nofollow
        rel = dice.pick(_NOFOLLOW) if share and dice.chance(share) else ""
        return PageLink(origin + path, href, dice.pick(source.anchors), rel)

    def _decorated(self, source: _Source, path: str, dice: Dice) -> str:
        """The path as this host writes it in its own links: with a session id, or as one of several variants."""
        traits = source.host.traits
        if traits.session is Session.TRAP:
            return f"{path}?sid={mixed(self._plan.seed, source.host.number, source.number, source.session):016x}"
        query = dice.pick(_VARIANTS) if traits.has_variants and dice.chance(_VARIANT_SHARE) else ""
        if traits.session is Session.NONE:
            return path + query
        session = f"{mixed(self._plan.seed, source.host.number, source.number):016x}"
        if traits.session is Session.PATH:
            return f"{path};jsessionid={session}{query}"
        return f"{path}{query}{'&' if query else '?'}PHPSESSID={session}"


def trap_entries(traits: Traits) -> Iterator[tuple[str, str]]:
    if traits.has_calendar:
        yield "/calendar/2026/01/", "calendar"
    if traits.has_deep_trap:
        yield "/deep/", "deep"


class _Source(NamedTuple):
    """The page that links are written for; `has_own_ways`: its host decorates the paths of its own links."""

    host: DemoHost
    number: int
    origin: str
    folder: str
    anchors: tuple[str, ...]
    is_ascii: bool
    session: int
    has_own_ways: bool


def folder_of(target: str) -> str:
    path = target.partition("?")[0]
    return path[: path.rindex("/") + 1]


def _session_in(target: str) -> int:
    """The session id of a trap's URL, as 63 bits."""
    _, mark, session = target.partition("?sid=")
    try:
        return int(session[:16], 16) >> 1 if mark else 0
    except ValueError:
        return 0


_WAYS: Final[Sequence[Callable[[_Source, str], str]]] = (
    *[lambda _, path: path] * 14,
    *[lambda source, path: _relative(source.folder, path)] * 6,
    *[lambda source, path: source.origin + path] * 7,
    lambda source, path: (source.origin + path).partition(":")[2],
    lambda _, path: "/x/.." + path,
    lambda _, path: f"\n  {path}",
    lambda source, path: path if source.is_ascii else path.replace("%C3%A9", "é"),
    lambda source, path: source.origin.upper() + path,
)
"""The ways to write a link within an origin, as often as each is used."""


def _across(bits: int, source_origin: str, url: str) -> str:
    """One of the ways to write a link to another origin."""
    scheme, _, rest = url.partition(":")
    if bits & 7 == 0 and source_origin.startswith(scheme + ":"):
        return rest
    return f"{scheme.upper()}:{rest}" if bits & 31 == 1 else url


def _relative(folder: str, path: str) -> str:
    is_below = path.startswith(folder)
    rest = path[len(folder) :] if is_below else "../" * (folder.count("/") - 1) + path[1:]
    # A lone query or parameter would be read against the page, not against its folder.
    return rest if rest and rest[0] not in "?;" else "./" + rest

"""How one host behaves: chosen by the seed, and what a control call can switch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.profile import Profile


class RobotsKind(StrEnum):
    """What answers a request for /robots.txt."""

    PLAIN = "plain"
    MISSING = "missing"
    FORBIDDEN = "forbidden"
    FAILING = "failing"
    HUGE = "huge"
    MOVED = "moved"
    CHAIN = "chain"
    LONG_CHAIN = "long_chain"
    AWAY = "away"
    SLOW = "slow"
    RESET = "reset"


class Encoding(StrEnum):
    """The content encoding that a host likes best."""

    GZIP = "gzip"
    BROTLI = "br"
    ZSTD = "zstd"


class Session(StrEnum):
    """Where a host puts session ids: nowhere, in a well-known parameter, in the path, or in a trap without end."""

    NONE = "none"
    PARAMETER = "parameter"
    PATH = "path"
    TRAP = "trap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """`closed_paths`: path prefixes that robots.txt closes beside the closed section. `overloaded` above 0: every page
    answers 503 with that Retry-After. `latency`: seconds before each answer. `is_down`: every connection is reset."""

    robots: RobotsKind = RobotsKind.PLAIN
    has_closed: bool = False
    crawl_delay: float = 0.0
    has_sitemap: bool = False
    is_secure: bool = False
    is_soft_404: bool = False
    session: Session = Session.NONE
    has_variants: bool = False
    encoding: Encoding = Encoding.GZIP
    has_calendar: bool = False
    has_deep_trap: bool = False
    closed_paths: tuple[str, ...] = ()
    overloaded: float = 0.0
    latency: float = 0.0
    is_down: bool = False


SWITCHABLE: Final = ("robots", "crawl_delay", "closed_paths", "is_soft_404", "overloaded", "latency", "is_down")
"""The others are written into pages, which must not change without a new version."""
_ROBOTS_SHARES: Final = tuple((kind, f"robots_{kind}") for kind in RobotsKind if kind is not RobotsKind.PLAIN)


def traits_by_seed(profile: Profile, dice: Dice, *, tls: bool) -> Traits:
    return Traits(
        robots=_robots_kind(profile, dice.unit()),
        has_closed=dice.chance(profile.closed),
        crawl_delay=profile.crawl_delay_seconds if dice.chance(profile.crawl_delays) else 0.0,
        has_sitemap=dice.chance(profile.sitemaps),
        is_secure=dice.chance(profile.secure) and tls,
        is_soft_404=dice.chance(profile.soft_404),
        session=_session(profile, dice),
        has_variants=dice.chance(profile.variants),
        encoding=_encoding(profile, dice),
        has_calendar=dice.chance(profile.calendars),
        has_deep_trap=dice.chance(profile.deep_traps),
    )


def _robots_kind(profile: Profile, unit: float) -> RobotsKind:
    for kind, share in _ROBOTS_SHARES:
        unit -= getattr(profile, share)
        if unit < 0:
            return kind
    return RobotsKind.PLAIN


def _encoding(profile: Profile, dice: Dice) -> Encoding:
    other = dice.pick((Encoding.BROTLI, Encoding.ZSTD))
    return other if dice.chance(profile.other_encodings) else Encoding.GZIP


def _session(profile: Profile, dice: Dice) -> Session:
    known = dice.pick((Session.PARAMETER, Session.PATH))
    if dice.chance(profile.session_traps):
        return Session.TRAP
    return known if dice.chance(profile.sessions) else Session.NONE

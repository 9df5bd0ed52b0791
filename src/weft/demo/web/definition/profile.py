"""What a synthetic web is like: how often each behaviour occurs, as shares that can be switched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Final

from weft.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Shares from 0 to 1; host 0, where a crawl begins, is always without oddities."""

    # Shares of hosts, by what their robots.txt answers; the rest answers it plainly.
    robots_missing: float = 0.0
    robots_forbidden: float = 0.0
    robots_failing: float = 0.0
    robots_huge: float = 0.0
    robots_moved: float = 0.0
    robots_chain: float = 0.0
    robots_long_chain: float = 0.0
    robots_away: float = 0.0
    robots_slow: float = 0.0
    robots_reset: float = 0.0
    # Shares of hosts, by what their robots.txt says.
    closed: float = 0.0
    crawl_delays: float = 0.0
    sitemaps: float = 0.0
    # Shares of hosts.
    secure: float = 0.0
    soft_404: float = 0.0
    sessions: float = 0.0
    variants: float = 0.0
    other_encodings: float = 0.0
    session_traps: float = 0.0
    calendars: float = 0.0
    deep_traps: float = 0.0
    # Resources beside the pages of a host, for each of its pages.
    moved: float = 0.0
    moved_away: float = 0.0
    chains: float = 0.0
    loops: float = 0.0
    forbidden: float = 0.0
    missing: float = 0.0
    gone: float = 0.0
    failing: float = 0.0
    limited: float = 0.0
    unavailable: float = 0.0
    recovering: float = 0.0
    slow: float = 0.0
    images: float = 0.0
    documents: float = 0.0
    texts: float = 0.0
    endless: float = 0.0
    endless_headers: float = 0.0
    silent: float = 0.0
    too_short: float = 0.0
    too_long: float = 0.0
    resets: float = 0.0
    bombs: float = 0.0
    # Shares of pages.
    charsets: float = 0.0
    bases: float = 0.0
    robots_metas: float = 0.0
    refreshes: float = 0.0
    changing: float = 0.0
    vanishing: float = 0.0
    # Share of links.
    nofollow: float = 0.0
    # Seconds.
    crawl_delay_seconds: float = 2.0
    retry_after_seconds: float = 2.0
    slow_seconds: float = 1.0
    change_seconds: float = 3600.0


SECONDS: Final = tuple(field.name for field in fields(Profile) if field.name.endswith("_seconds"))
SHARES: Final = tuple(field.name for field in fields(Profile) if field.name not in SECONDS)

_ROBOTS: Final = {
    "robots_missing": 0.1, "robots_forbidden": 0.04, "robots_failing": 0.04, "robots_huge": 0.04, "robots_moved": 0.08,
    "robots_chain": 0.06, "robots_long_chain": 0.03, "robots_away": 0.06, "robots_slow": 0.04, "robots_reset": 0.03,
    "closed": 0.5, "crawl_delays": 0.15, "sitemaps": 0.4, "nofollow": 0.04, "robots_metas": 0.03,
}  # fmt: skip
_ODD: Final = {
    "secure": 0.2, "soft_404": 0.15, "sessions": 0.1, "variants": 0.15, "other_encodings": 0.2,
    "moved": 0.05, "moved_away": 0.03, "chains": 0.02, "loops": 0.01, "forbidden": 0.02, "missing": 0.05, "gone": 0.02,
    "failing": 0.02, "slow": 0.01, "images": 0.05, "documents": 0.02, "texts": 0.02,
    "charsets": 0.05, "bases": 0.1, "refreshes": 0.02,
}  # fmt: skip
_BUSY: Final = {"limited": 0.01, "unavailable": 0.01, "recovering": 0.01}
_TIME: Final = {"changing": 0.2, "vanishing": 0.03}
_HOSTILE: Final = {
    "endless": 0.01, "endless_headers": 0.01, "silent": 0.01, "too_short": 0.02, "too_long": 0.02, "resets": 0.02,
    "bombs": 0.01,
}  # fmt: skip
_TRAPS: Final = {"session_traps": 0.08, "calendars": 0.1, "deep_traps": 0.06}

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "plain": Profile(),
        "robots": Profile(**_ROBOTS),
        "finite": Profile(**_ROBOTS, **_ODD),
        "busy": Profile(**_ROBOTS, **_BUSY),
        "changing": Profile(**_TIME, nofollow=0.04),
        "hostile": Profile(**_ODD, **_HOSTILE),
        "traps": Profile(**_TRAPS),
        "all": Profile(**_ROBOTS, **_ODD, **_BUSY, **_TIME, **_HOSTILE, **_TRAPS),
    }
)
"""`finite` has all that stands still, ends, and has one right answer: its whole graph can be told."""


def profile_with(name: str, changes: Sequence[str]) -> Profile:
    """The profile called `name`, with each `share=value` of `changes` in its place."""
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}; expected one of: {', '.join(PROFILES)}")
    return replace(PROFILES[name], **dict(_change(text) for text in changes))


def _change(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    if name not in SHARES + SECONDS:
        raise UsageError(f"a profile has no share {name!r}; expected one of: {', '.join(SHARES + SECONDS)}")
    highest = 86_400.0 if name in SECONDS else 1.0
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= highest:
        raise UsageError(f"the share {text!r} has no usable value; expected {name}=NUMBER from 0 to {highest:g}")
    return name, number

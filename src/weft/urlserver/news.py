"""What came of errands, for the frontier to learn."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.mgmt.values import ClaimedLink
from weft.urlserver.robots import Known


@dataclass(frozen=True, slots=True)
class Place:
    """Where a web host is, as far as the URL server has to know."""

    ip: str
    """Empty: nowhere."""
    ip_key: str
    expires: int
    reason: str = ""
    """Class of the error where there is no address."""
    may_change: bool = False
    """There may be an address next time."""


@dataclass(slots=True)
class News:
    links: list[ClaimedLink] = field(default_factory=list)
    """Claimed, or in the place of others that failed."""
    places: dict[str, Place] = field(default_factory=dict)
    """By web host."""
    unplaced: list[str] = field(default_factory=list)
    """Web hosts whose address nobody knows: a question for the DNS."""
    unanswered: set[str] = field(default_factory=set)
    """Those of them about which the DNS said nothing the last time either."""
    robots_known: dict[str, Known] = field(default_factory=dict)
    """By origin."""
    robots_unknown: list[str] = field(default_factory=list)
    robots_failures: dict[str, int] = field(default_factory=dict)
    """Origin -> how many fetches in a row could not be used, where that was so."""
    robots_opened: dict[str, ClaimedLink] = field(default_factory=dict)
    robots_busy: list[str] = field(default_factory=list)
    """Origins whose robots.txt another URL server is fetching."""

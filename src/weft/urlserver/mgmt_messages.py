"""What the frontier wants from the control plane, and the replies: it makes no calls itself."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

from weft.mgmt.values import ClaimedLink, DocId, Result
from weft.model.site import NO_SETTINGS, SiteSettings

if TYPE_CHECKING:
    from weft.urlserver.origin_robots import OriginRules


class RobotsAnswer(NamedTuple):
    """How fetching a robots.txt ended."""

    status: int
    """0: no answer."""
    retry_after: int
    failures: int = 0
    """How many fetches in a row before this one could not be used."""
    error: str = ""
    """Class of the error if there was no answer."""


class Deferral(NamedTuple):
    """A web host must not be asked before this moment, and why."""

    until: int
    reason: str


@dataclass(slots=True)
class MgmtRequests:
    """Calls to the control plane, gathered until there is time for them."""

    resolve: list[str] = field(default_factory=list)
    """Web hosts whose address is wanted."""
    read_robots: list[str] = field(default_factory=list)
    """Origins whose robots.txt may be known to the control plane."""
    open_robots: dict[str, str] = field(default_factory=dict)
    """Origin -> URL of a robots.txt that must be fetched."""
    settle_robots: dict[str, RobotsAnswer] = field(default_factory=dict)
    """By origin."""
    robots_given_back: list[str] = field(default_factory=list)
    """Origins whose robots.txt is not ours to fetch any more; the frontier learns of it in its turn."""
    refuse: list[Result] = field(default_factory=list)
    release: list[DocId] = field(default_factory=list)
    lose: list[tuple[DocId, int]] = field(default_factory=list)
    """(doc_id, claim) of links that were DONE without a result."""
    defer: dict[str, Deferral] = field(default_factory=dict)
    """By web host."""
    rates: dict[str, int] = field(default_factory=dict)
    """Web host -> how often it may be asked, as was learned just now."""

    def take(self) -> MgmtRequests:
        """All requests so far; this object is empty afterwards."""
        taken = MgmtRequests()
        for each in fields(self):
            empty = getattr(taken, each.name)
            setattr(taken, each.name, getattr(self, each.name))
            setattr(self, each.name, empty)
        return taken

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, slots=True)
class HostAddress:
    """Where a web host is, as far as the URL server has to know."""

    ip: str
    """Empty: nowhere."""
    ip_key: str
    expires: int
    reason: str = ""
    """Class of the error where there is no address."""
    may_change: bool = False
    """There may be an address next time."""
    settings: SiteSettings = NO_SETTINGS
    """What is set for the host's sites."""
    rate: int = 0
    """How often it may be asked, as was learned before; 0: nothing was."""


@dataclass(slots=True)
class MgmtReplies:
    """What the control plane replied, for the frontier to learn."""

    links: list[ClaimedLink] = field(default_factory=list)
    """Claimed, or in the place of others that failed."""
    addresses: dict[str, HostAddress] = field(default_factory=dict)
    """By web host."""
    settings: dict[str, SiteSettings] = field(default_factory=dict)
    """By web host, where a site has changed."""
    wanted: set[str] = field(default_factory=set)
    """Web hosts of pages that people want fetched now."""
    unresolved: list[str] = field(default_factory=list)
    """Web hosts whose address nobody knows: a question for the DNS."""
    unanswered: set[str] = field(default_factory=set)
    """Those of them for which the DNS gave no answer the last time either."""
    local: set[str] = field(default_factory=set)
    """Those of them that may have private addresses."""
    robots_known: dict[str, OriginRules] = field(default_factory=dict)
    """By origin."""
    robots_unknown: list[str] = field(default_factory=list)
    robots_failures: dict[str, int] = field(default_factory=dict)
    """Origin -> how many fetches in a row could not be used, where that was so."""
    robots_opened: dict[str, ClaimedLink] = field(default_factory=dict)
    robots_given_back: list[str] = field(default_factory=list)
    robots_busy: list[str] = field(default_factory=list)
    """Origins whose robots.txt another URL server is fetching."""
    refused: int = 0
    """Links that the control plane would not take back: it has to be asked to free them."""

"""robots.txt of each origin: asked for before the first page, the rest waits behind it; asked again when it expires."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from math import ceil

from weft.mgmt.values import DocId, Outcome
from weft.model.fetch_error import Fault, FetchError, is_haste
from weft.model.url import UrlRefused, UrlRules
from weft.robots.rules import Rules
from weft.urlserver.hosts import NEEDS_MEMORY, NEEDS_ROBOTS, Host
from weft.urlserver.mgmt_messages import MgmtRequests, RobotsAnswer
from weft.urlserver.packed_link import PackedLink, is_https, is_robots, url_of

log = logging.getLogger(__name__)

MOST_REDIRECTS = 5
MOST_HASTY = 3
"""So often a robots.txt is fetched whose server asks us to slow down; all pages of the host wait for it."""
MOST_LOST = 3
"""So often a robots.txt is fetched that comes back without a result."""
MOST_COSTLY = 8
"""Decisions that a robots.txt may make too costly before nothing more is asked of it."""
TOO_SLOW = "Crawl-delay is longer than crawl_delay_max"


class RobotsVerdict(Enum):
    ALLOWED, REFUSED, UNKNOWN = "allowed", "refused", "unknown"


class OriginRules:
    """What an origin's robots.txt means for us, and until when."""

    __slots__ = ("_costly", "delay", "expires", "refusal", "rules")

    def __init__(self, rules: Rules | None, expires: int, delay_max: int, error: str = "") -> None:
        """`error` is the class of the error that kept robots.txt from being fetched, if one did."""
        delay = ceil((rules.crawl_delay or 0) * 1000) if rules else 0
        self.expires = expires
        self.delay = delay if delay <= delay_max else 0
        self.rules = rules if delay <= delay_max else Rules.closed(TOO_SLOW)
        """None: there is no robots.txt, everything may be fetched."""
        self.refusal = _refusal(error)
        """The error of a link that is refused."""
        self._costly = 0

    def allows(self, link: PackedLink, web_host: str) -> bool:
        """Judge a link of this origin. A file that is too costly again and again refuses everything."""
        if self.rules is None:
            return True
        decision = self.rules.decide(target_of(link, web_host))
        if decision.is_too_costly:
            self._costly += 1
            if self._costly == 1:
                log.warning("robots.txt takes too long to match, link refused url=%s", url_of(link, web_host))
            if self._costly == MOST_COSTLY:
                self.rules = Rules.closed(decision.line_text)
        return decision.allowed


@dataclass(slots=True)
class _Search:
    """An origin whose robots.txt is being looked for."""

    host: Host
    redirects: int = 0
    failures: int = 0
    """How many searches before this one came to nothing."""
    hasty: int = 0
    """How often its server asked us to slow down."""
    lost: int = 0
    """How often there was no result."""


class Origins:
    def __init__(self, requests: MgmtRequests) -> None:
        self._requests = requests
        self._searches: dict[str, _Search] = {}
        self._readings: dict[str, Host] = {}
        """Origins that the control plane is asked about."""
        self._origin_of: dict[DocId, str] = {}
        self._urls = UrlRules()

    def judge(self, host: Host, link: PackedLink, now: int) -> RobotsVerdict:
        """May this link be fetched, as far as the origin's robots.txt is concerned?"""
        if is_robots(link):
            return RobotsVerdict.ALLOWED
        known = host.https if is_https(link) else host.http
        if known is None or known.expires <= now:
            return RobotsVerdict.UNKNOWN
        return RobotsVerdict.ALLOWED if known.allows(link, host.name) else RobotsVerdict.REFUSED

    def refusal(self, host: Host, link: PackedLink) -> FetchError:
        """The error of a link that is refused."""
        known = host.https if is_https(link) else host.http
        return known.refusal if known else FetchError.ROBOTS

    def search(self, host: Host, link: PackedLink) -> None:
        """Look for the robots.txt that this link needs; the host's pages wait."""
        origin = origin_of(host, https=is_https(link))
        host.needs |= NEEDS_ROBOTS
        if origin not in self._searches:
            self._searches[origin] = _Search(host)
            self._remember(origin, host)

    def remember(self, host: Host, link: PackedLink) -> None:
        """Before a host is asked for another's robots.txt: what is known of its own?"""
        known = host.https if is_https(link) else host.http
        origin = origin_of(host, https=is_https(link))
        if known is None and origin not in self._searches:
            self._remember(origin, host)

    def unknown(self, origin: str, failures: int = 0) -> Host | None:
        """The control plane knows no robots.txt that is fresh; returns the host, which may proceed."""
        search = self._searches.get(origin)
        if search is not None:
            search.failures = failures
            self._requests.open_robots[origin] = f"{origin}/robots.txt"
        return self._remembered(origin)

    def _remember(self, origin: str, host: Host) -> None:
        if origin not in self._readings:
            self._readings[origin] = host
            host.needs |= NEEDS_MEMORY
            self._requests.read_robots.append(origin)

    def _remembered(self, origin: str) -> Host | None:
        host = self._readings.pop(origin, None)
        if host is not None and _other(origin) not in self._readings:
            host.needs &= ~NEEDS_MEMORY
        return host

    def opened(self, origin: str, doc_id: DocId) -> Host | None:
        """Fetching begins; returns the host that waits for it, None if nobody does any more."""
        search = self._searches.get(origin)
        if search is None:
            return None
        self._origin_of[doc_id] = origin
        return search.host

    def origin_of_link(self, doc_id: DocId) -> str | None:
        """The origin whose robots.txt this link is fetched for."""
        return self._origin_of.get(doc_id)

    def ended(self, doc_id: DocId, url: str, outcome: Outcome | None, error: str = "") -> None:
        """A fetch of robots.txt, or of what it redirects to, ended; None: without any answer, because of `error`."""
        origin = self._origin_of.pop(doc_id, None)
        search = self._searches.get(origin or "")
        if origin is None or search is None:
            return
        target = self._redirect(url, outcome)
        if target is not None and search.redirects < MOST_REDIRECTS:
            search.redirects += 1
            self._requests.open_robots[origin] = target
        elif outcome is not None and is_haste(outcome.status) and search.hasty + 1 < MOST_HASTY:
            # Nobody knows yet what may be fetched: it is asked again when the host's wait is over.
            search.hasty += 1
            self._requests.open_robots[origin] = url
        else:
            self._requests.settle_robots[origin] = _answer(outcome, search.failures, error)

    def lost(self, doc_id: DocId, url: str) -> None:
        """A fetch ended without a result, which says nothing about its server: it is asked again, under the rate."""
        search = self._searches.get(self._origin_of.get(doc_id, ""))
        if search is None or search.lost + 1 == MOST_LOST:
            self.ended(doc_id, url, None)
            return
        search.lost += 1
        self._requests.open_robots[self._origin_of.pop(doc_id)] = url

    def given_back(self, doc_id: DocId, host: Host, url: str) -> None:
        """The link is not ours to fetch any more: that says nothing about its robots.txt, which others fetch.

        One that leads to another URL server's host has no answer: whoever asks for it would be led there again.
        """
        origin = self._origin_of.get(doc_id)
        search = self._searches.get(origin or "")
        if origin is None or search is None or search.host is not host:
            self.ended(doc_id, url, None)
            return
        del self._origin_of[doc_id]
        self._requests.robots_given_back.append(origin)

    def learn(self, origin: str, known: OriginRules) -> Host | None:
        """The search is over; returns the host, which may proceed."""
        reader, search = self._remembered(origin), self._searches.pop(origin, None)
        host = search.host if search else reader
        if host is None:
            return None
        if origin.startswith("https:"):
            host.https = known
        else:
            host.http = known
        host.obey_crawl_delay(max((each.delay for each in (host.http, host.https) if each is not None), default=0))
        self._stop_needing(host, origin)
        return host

    def give_up(self, origin: str) -> Host | None:
        """Nobody can tell now; the host, whose links are given back, will ask again."""
        search = self._searches.pop(origin, None)
        if search is not None:
            self._stop_needing(search.host, origin)
        return search.host if search else None

    def _stop_needing(self, host: Host, origin: str) -> None:
        if _other(origin) not in self._searches:
            host.needs &= ~NEEDS_ROBOTS

    def _redirect(self, url: str, outcome: Outcome | None) -> str | None:
        if outcome is None or not 300 <= outcome.status < 400 or not outcome.location:
            return None
        try:
            return self._urls.join(url, outcome.location).url
        except UrlRefused:
            return None


def _refusal(error: str) -> FetchError:
    """Whoever cannot be asked for robots.txt cannot be asked for pages either, and for the same reason."""
    found = FetchError.of(error) if error else FetchError.ROBOTS
    return found if found.fault in (Fault.SERVER, Fault.ADDRESS) else FetchError.ROBOTS


def _answer(outcome: Outcome | None, failures: int, error: str) -> RobotsAnswer:
    """A robots.txt that came but cannot be read is none that came: nobody knows what it forbids."""
    if outcome is None:
        return RobotsAnswer(0, 0, failures, error)
    is_unreadable = 200 <= outcome.status < 300 and bool(outcome.error)
    return RobotsAnswer(0 if is_unreadable else outcome.status, outcome.retry_after, failures, outcome.error)


def origin_of(host: Host, *, https: bool) -> str:
    return f"{'https' if https else 'http'}://{host.name}"


def _other(origin: str) -> str:
    """The same host's other origin."""
    scheme, rest = origin.split(":", 1)
    return ("http:" if scheme == "https" else "https:") + rest


def target_of(link: PackedLink, web_host: str) -> str:
    """Path and query of a link."""
    url = url_of(link, web_host)
    slash = url.find("/", len("https://"))
    return url[slash:] if slash >= 0 else "/"

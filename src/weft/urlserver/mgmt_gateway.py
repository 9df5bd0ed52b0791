"""The URL server's requests, made as calls to the control plane in bulk. Every call may block."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec

from weft.clock import Clock
from weft.errors import LeaseLost, MgmtError, MgmtUnavailable
from weft.mgmt.api import UrlServerCalls
from weft.mgmt.rules.clock_jumps import has_gone_back
from weft.mgmt.values import Address, ClaimedLink, DocId, Lease, Outcome, Result, Robots
from weft.model.fetch_error import FetchError
from weft.model.host import web_host_of
from weft.model.site import Affects, SiteSettings
from weft.robots.policy import FIRST_RETRY, good_until, is_reachable, policy
from weft.robots.rules import Rules
from weft.robots.rules_cache import MOST_IN_USE, RulesCache, TooManyRules
from weft.urlserver.address_policy import AddressPolicy, is_unanswered
from weft.urlserver.mgmt_messages import HostAddress, MgmtReplies, MgmtRequests, RobotsAnswer
from weft.urlserver.origin_robots import OriginRules
from weft.urlserver.robots_sitemaps import Sitemaps
from weft.urlserver.site_cache import SiteCache

log = logging.getLogger(__name__)

T = TypeVar("T")

BULK = 1000
"""Links or hosts in one call."""
NO_MEMORY = "too many large robots.txt files are in use"
UNANSWERED_AGE = 86_400_000
"""For how long it matters that the DNS gave no answer for a host."""


@dataclass(frozen=True, slots=True)
class RobotsPolicy:
    agent: str
    """Our product token."""
    limit: int
    """Bytes of a robots.txt that are read."""
    delay_max: int
    rules_bytes: int = MOST_IN_USE
    """Bytes that the rules of all large files together may take."""
    fetch_conditions: bytes = b""
    """A hash of the settings under which fetches succeed or fail, whatever the site."""


class Clocks(NamedTuple):
    wall: Clock
    """Expiries are moments of it: milliseconds since 1970."""
    monotonic: Clock
    """Politeness is measured by it."""


class MgmtGateway:
    def __init__(
        self,
        mgmt: UrlServerCalls,
        clocks: Clocks,
        robots: RobotsPolicy,
        address_policy: AddressPolicy,
        sitemaps: Sitemaps | None = None,
    ) -> None:
        """Without `sitemaps`, those that robots.txt names are left alone."""
        self._mgmt, self._robots, self._policy, self._sitemaps = mgmt, robots, address_policy, sitemaps
        self._wall, self._monotonic = clocks
        self._sites = SiteCache(mgmt, clocks.monotonic)
        self._claimed = clocks.monotonic.now()
        """When links were last claimed."""
        self._rules = RulesCache(robots.agent, robots.limit, in_use=robots.rules_bytes)

    def claim(self, lease: Lease, limit: int, reject: Collection[str]) -> MgmtReplies:
        chunk = self._mgmt.claim(lease, limit, reject)
        self._claimed = self._monotonic.now()
        return MgmtReplies(links=chunk.links if chunk else [])

    def outcomes(self, doc_ids: Sequence[DocId]) -> dict[DocId, Outcome]:
        found: dict[DocId, Outcome] = {}
        for some in _in_bulk(doc_ids):
            found |= self._mgmt.outcomes(some)
        # Their replacements are claimed too.
        self._claimed = self._monotonic.now()
        return found

    def run(self, lease: Lease, requests: MgmtRequests, replies: MgmtReplies) -> None:
        """Make all requests. What is done leaves `requests` and is in `replies`: after an error, call it again."""
        self._give_back(lease, requests, replies)
        self._settle_robots(requests, replies)
        self._read_robots(requests, replies)
        self._open_robots(lease, requests, replies)
        self._find_addresses(requests, replies)

    def save(self, addresses: Sequence[Address]) -> None:
        for some in _in_bulk(addresses):
            self._mgmt.save_addresses(some)

    def host_address(self, address: Address, rate: int = 0, *, may_change: bool = False) -> HostAddress:
        """What the control plane or the DNS knows, with what is set for the host and was learned of it."""
        error = address.reason.partition(":")[0]
        settings = self._sites.settings_for(address.web_host)
        expires = self._to_monotonic(address.expires)
        return HostAddress(address.ip, address.ip_key, expires, error, may_change, settings, rate)

    def host_addresses(self, addresses: Iterable[Address], may_change: Collection[str]) -> dict[str, HostAddress]:
        """By web host; those in `may_change` may have an address next time."""
        found = list(addresses)
        rates = self._rates([address.web_host for address in found])
        return {
            address.web_host: self.host_address(
                address, rates.get(address.web_host, 0), may_change=address.web_host in may_change
            )
            for address in found
        }

    def _rates(self, web_hosts: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for some in _in_bulk(web_hosts):
            found |= self._mgmt.rates(some)
        return found

    def changed_settings(self, web_hosts: Iterable[str], seen: int) -> tuple[int, dict[str, SiteSettings]]:
        """What is set for these hosts, if any site has changed since version `seen`; and the version now."""
        version = self._sites.version
        if version == seen:
            return seen, {}
        return version, {web_host: self._sites.settings_for(web_host) for web_host in web_hosts}

    def wanted_hosts(self, since: int) -> tuple[int, set[str]]:
        """Web hosts of pages that people named after `since`; and when the last one was."""
        wishes = [wish for wish in self._mgmt.wishes(limit=BULK) if wish.asked > since]
        return max((wish.asked for wish in wishes), default=since), {web_host_of(wish.url) for wish in wishes}

    def _give_back(self, lease: Lease, requests: MgmtRequests, replies: MgmtReplies) -> None:
        # Deferred first: nothing that is given back may be claimed again before its time.
        if requests.defer:
            now = self._monotonic.now()
            reasons = {host: one.reason for host, one in requests.defer.items()}
            self._mgmt.defer({host: one.until - now for host, one in requests.defer.items()}, reasons)
            requests.defer = {}
        if requests.rates:
            self._mgmt.save_rates(requests.rates)
            requests.rates = {}
        replies.refused += _hand_over("refuse", requests.refuse, lambda some: self._refuse(lease, some, replies))
        replies.refused += _hand_over("lost", requests.lose, lambda some: self._lost(lease, some, replies))
        replies.refused += _hand_over("release", requests.release, lambda some: self._mgmt.release(lease, some))

    def _refuse(self, lease: Lease, results: list[Result], replies: MgmtReplies) -> None:
        self._take_replacements(self._mgmt.refuse(lease, results), replies)

    def _lost(self, lease: Lease, links: list[tuple[DocId, int]], replies: MgmtReplies) -> None:
        self._take_replacements(self._mgmt.lost(lease, links), replies)

    def _take_replacements(self, outcomes: Iterable[Outcome], replies: MgmtReplies) -> None:
        """They are ours already: whoever drops one leaves it crawling until the lease ends."""
        replies.links += filter(None, (outcome.replacement for outcome in outcomes))
        self._claimed = self._monotonic.now()

    def _settle_robots(self, requests: MgmtRequests, replies: MgmtReplies) -> None:
        """What a fetch left in the control plane gets the expiry that its end calls for."""
        origins = list(requests.settle_robots)
        found = self._mgmt.robots(origins) if origins else {}
        settled = [self._settled(origin, requests.settle_robots[origin], found.get(origin)) for origin in origins]
        # First: once it is settled, nobody reads it again before it expires.
        self._add_sitemaps(settled)
        if settled:
            self._mgmt.save_robots(settled)
        replies.robots_known |= {robots.origin: self._known(robots) for robots in settled}
        requests.settle_robots = {}
        replies.robots_given_back += requests.robots_given_back
        requests.robots_given_back = []

    def _settled(self, origin: str, answer: RobotsAnswer, stored: Robots | None) -> Robots:
        now = self._wall.now()
        body = stored.body if stored is not None and stored.status == answer.status else None
        # Rules that nobody has are not rules that allow everything.
        status = 0 if body is None and 200 <= answer.status < 300 else answer.status
        return Robots(
            origin=origin,
            status=status,
            body=body if body is not None and is_reachable(status) else b"",
            fetched=now,
            expires=good_until(status, now, retry_after=answer.retry_after, failures=answer.failures),
            error="" if status else answer.error,
            settings=self._settings_now(origin),
        )

    def _settings_now(self, origin: str) -> str:
        """Two hashes: of what is set for the origin's site, and of what is set for all."""
        of_site = self._sites.settings_for(web_host_of(origin)).of(Affects.FETCH)
        hashed = blake2b(msgspec.json.encode(of_site), digest_size=8).hexdigest()
        return f"{hashed} {self._robots.fetch_conditions.hex()}"

    def _holds(self, robots: Robots, now: int) -> bool:
        """Whether a robots.txt may still be used; where there was no answer, other settings may lead to one."""
        if not is_fresh(robots, now):
            return False
        settings = self._settings_now(robots.origin)
        was, is_now = robots.settings, settings
        if is_reachable(robots.status):
            was, is_now = was.partition(" ")[0], is_now.partition(" ")[0]
        return not robots.settings or was == is_now

    def _read_robots(self, requests: MgmtRequests, replies: MgmtReplies) -> None:
        found: dict[str, Robots] = {}
        for origins in _in_bulk(requests.read_robots):
            found |= self._mgmt.robots(origins)
        now = self._wall.now()
        fresh = {origin: robots for origin, robots in found.items() if self._holds(robots, now)}
        # Again: a crash may have come between a robots.txt and its sitemaps, and sites change.
        self._add_sitemaps(fresh.values())
        replies.robots_known |= {origin: self._known(robots) for origin, robots in fresh.items()}
        replies.robots_unknown += (origin for origin in requests.read_robots if origin not in fresh)
        replies.robots_failures |= {
            origin: failures
            for origin, robots in found.items()
            if robots.expires <= now and (failures := failures_before(robots))
        }
        requests.read_robots = []

    def _add_sitemaps(self, robots: Iterable[Robots]) -> None:
        if self._sitemaps is not None:
            self._sitemaps.add(robots, self._sites)

    def _known(self, robots: Robots) -> OriginRules:
        expires, delay_max = self._to_monotonic(robots.expires), self._robots.delay_max
        try:
            return OriginRules(self._rules_of(robots), expires, delay_max, robots.error)
        except TooManyRules:
            log.warning("robots.txt of %s is not read now: too many large ones are in use", robots.origin)
            return OriginRules(Rules.closed(NO_MEMORY), min(expires, self._monotonic.now() + FIRST_RETRY), delay_max)

    def _rules_of(self, robots: Robots) -> Rules | None:
        if 200 <= robots.status < 300:
            return self._rules.rules_of(robots.body)
        return None if is_reachable(robots.status) else policy(robots.status, b"", self._robots.agent)

    def _open_robots(self, lease: Lease, requests: MgmtRequests, replies: MgmtReplies) -> None:
        if requests.open_robots:
            opened = self._opened(lease, requests.open_robots)
            replies.robots_opened |= opened
            replies.robots_busy += requests.open_robots.keys() - opened.keys()
            requests.open_robots = {}

    def _opened(self, lease: Lease, urls: dict[str, str]) -> dict[str, ClaimedLink]:
        try:
            return self._mgmt.open_robots(lease, urls)
        except (LeaseLost, MgmtUnavailable):
            raise
        except MgmtError as error:
            log.error("robots.txt of %d origins cannot be opened, tried again later reason=%s", len(urls), error)
            return {}

    def _find_addresses(self, requests: MgmtRequests, replies: MgmtReplies) -> None:
        known: dict[str, Address] = {}
        for hosts in _in_bulk(requests.resolve):
            known |= self._mgmt.addresses(hosts)
        now, rates = self._wall.now(), self._rates(list(known))
        for host in requests.resolve:
            address, is_local = known.get(host), bool(self._sites.settings_for(host).local)
            if self._policy.port_refusal(host) and not self._sites.is_named(host, self._claimed):
                replies.addresses[host] = HostAddress("", "", 0, FetchError.PORT)
            elif address is not None and address.expires > now and self._policy.may_use(address, is_local=is_local):
                replies.addresses[host] = self.host_address(address, rates.get(host, 0))
            else:
                replies.unresolved.append(host)
                if is_local:
                    replies.local.add(host)
                if address is not None and is_unanswered(address) and address.expires > now - UNANSWERED_AGE:
                    replies.unanswered.add(host)
        requests.resolve = []

    def _to_monotonic(self, moment: int) -> int:
        return moment - self._wall.now() + self._monotonic.now()


def is_fresh(robots: Robots, now: int) -> bool:
    """Not if it comes from the future: a clock was set back, and nobody knows how old it is."""
    return robots.expires > now and not has_gone_back(robots.fetched, now)


def failures_before(robots: Robots) -> int:
    """How many fetches in a row could not be used, judged by the wait that followed the last one."""
    return 0 if is_reachable(robots.status) else ((robots.expires - robots.fetched) // FIRST_RETRY).bit_length()


def _in_bulk(items: Iterable[T]) -> Iterator[list[T]]:
    left = iter(items)
    while some := list(islice(left, BULK)):
        yield some


def _hand_over(call: str, items: list[T], hand_over: Callable[[list[T]], object]) -> int:
    """In parts, each taken off the list once it is handed over, so that after an error the rest can be tried again.

    What is refused when it is handed over alone is left out; returns how many those are.
    """
    size, refused = BULK, 0
    while items:
        some = items[:size]
        try:
            hand_over(some)
        except (LeaseLost, MgmtUnavailable):
            raise
        except MgmtError as error:
            if len(some) > 1:
                size = 1
                continue
            log.error("control plane refused call=%s item=%s reason=%s", call, some[0], error)
            refused += 1
        del items[: len(some)]
    return refused

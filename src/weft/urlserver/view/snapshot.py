"""What the queues look like at one moment, as plain data: who waits, how many, until when, and why."""

from __future__ import annotations

from itertools import islice
from urllib.parse import urlsplit

import msgspec

from weft.urlserver.frontier import Frontier
from weft.urlserver.hosts import ARRIVING, NEEDS_ADDRESS, UNSEATED, Host
from weft.urlserver.origin_robots import OriginRules
from weft.urlserver.packed_link import PackedLink, url_of


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """One host's queue. `active` holds the URLs in spiders' hands; `next_in` is in seconds, None: nobody can tell."""

    slot: int
    host: str
    address: str
    active: list[str]
    waiting: int
    next_in: float | None
    why: str


class SpiderView(msgspec.Struct, frozen=True):
    address: str
    urls: int
    problem: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    state: str
    queue_count: int
    queue_len: int
    concurrent: int
    """Places in the active part."""
    taken: int
    queued: int
    leftovers: int
    without_queue: int
    arriving: int
    spiders: list[SpiderView]
    queues: list[QueueView]
    """The first of those in use."""


class OriginView(msgspec.Struct, frozen=True):
    origin: str
    expires_in: float
    crawl_delay: float
    allowed: bool | None
    """Whether the URL may be fetched; None: it belongs to the other origin, or none was named."""
    line: str
    """What decided."""


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL server knows about a host, for `weft why`."""

    host: str
    queue: QueueView | None
    """None: no link of this host is here."""
    robots: list[OriginView]
    ahead: int | None
    """How many links of the host go before the URL; None: it does not wait here."""
    gap: float
    """Seconds between two requests, by the settings or by what was learned."""
    crawl_delay: float
    site_delay: float
    """As set with `weft sites`."""
    failures: int
    rejected: list[str]
    """Why no more links of it are claimed."""


def queue_views(frontier: Frontier, now: int, most: int) -> list[QueueView]:
    seated = (host for host in frontier.registry.queues.slots if host is not None)
    sent = frontier.in_flight.links_by_host()
    return [queue_view(frontier, host, sent.get(host, []), now) for host in islice(seated, most)]


def queue_view(frontier: Frontier, host: Host, sent: list[PackedLink], now: int) -> QueueView:
    why, moment = waits_for(frontier, host, now)
    return QueueView(
        slot=host.slot,
        host=host.name,
        address=host.address,
        active=[url_of(link, host.name) for link in sent],
        waiting=len(host.links),
        next_in=None if moment is None else max(0, moment - now) / 1000,
        why=why,
    )


def waits_for(frontier: Frontier, host: Host, now: int) -> tuple[str, int | None]:
    """What a host waits for, and until when if that is known."""
    registry = frontier.registry
    if host.slot == ARRIVING or host.needs & NEEDS_ADDRESS:
        return "its address", None
    if host in registry.queues.line:
        return "a free queue", None
    if host.slot == UNSEATED and not host.links and not host.active:
        return _rests_until(frontier, host, now)
    if host.needs:
        return "robots.txt", None
    if not host.links or not registry.politeness.has_place(host):
        return "an answer", None
    return _waits_for_clock(frontier, host, now)


def _rests_until(frontier: Frontier, host: Host, now: int) -> tuple[str, int | None]:
    """Nothing of the host waits, but its clock may still run."""
    moment = frontier.registry.politeness.next_start(host)
    return (_clock_name(frontier, host, moment), moment) if moment > now else ("nothing", None)


def _clock_name(frontier: Frontier, host: Host, moment: int) -> str:
    if moment == host.wait_until:
        return "back-off" if host.failures else "Retry-After"
    politeness = frontier.registry.politeness
    if politeness.gap(host) > host.delay:
        is_learned = host.learned_gap > (host.rate_gap or politeness.host_gap)
        return "learned rate" if is_learned else "rate"
    return "site's delay" if host.site_delay > host.crawl_delay else "Crawl-delay"


def _waits_for_clock(frontier: Frontier, host: Host, now: int) -> tuple[str, int | None]:
    politeness, ip = frontier.registry.politeness, host.ip
    moment = politeness.next_start(host)
    if moment > now:
        return _clock_name(frontier, host, moment), moment
    if ip is not None and ip.active >= politeness.ip_concurrent:
        return "requests to its address", None
    if ip is not None and ip.next_start > now:
        return "its address's rate", ip.next_start
    return ("its turn", now) if frontier.in_flight.has_room else ("a spider", None)


def host_view(frontier: Frontier, web_host: str, url: str, now: int) -> HostView:
    """What is known of a host, and whether its robots.txt allows `url`."""
    registry = frontier.registry
    host, sent = registry.hosts.get(web_host), frontier.in_flight.links_by_host()
    reasons = {
        "its queue is full": registry.queues.full,
        "too many links wait for its address": registry.ips.crowded,
        "it is failing": registry.backing_off,
        "no queue is free": registry.queues.slotless,
    }
    known = [] if host is None else [("http", host.http), ("https", host.https)]
    return HostView(
        host=web_host,
        queue=None if host is None else queue_view(frontier, host, sent.get(host, []), now),
        robots=[_origin_view(f"{scheme}://{web_host}", each, url, now) for scheme, each in known if each is not None],
        ahead=None if host is None else _links_ahead(host, url),
        gap=(registry.politeness.host_gap if host is None else registry.politeness.gap(host)) / 1000,
        crawl_delay=0.0 if host is None else host.crawl_delay / 1000,
        site_delay=0.0 if host is None else host.site_delay / 1000,
        failures=0 if host is None else host.failures,
        rejected=[reason for reason, hosts in reasons.items() if web_host in hosts],
    )


def _links_ahead(host: Host, url: str) -> int | None:
    return next((ahead for ahead, link in enumerate(host.links) if url_of(link, host.name) == url), None)


def _origin_view(origin: str, known: OriginRules, url: str, now: int) -> OriginView:
    expires_in, delay = (known.expires - now) / 1000, known.delay / 1000
    if not url.startswith(f"{origin}/"):
        return OriginView(origin, expires_in, delay, None, "")
    if known.rules is None:
        return OriginView(origin, expires_in, delay, True, "there is no robots.txt")
    parts = urlsplit(url)
    decision = known.rules.decide(parts.path + ("?" + parts.query if parts.query else ""))
    number = "" if decision.line_number is None else f"line {decision.line_number}: "
    return OriginView(origin, expires_in, delay, decision.allowed, number + decision.line_text)

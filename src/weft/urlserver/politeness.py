"""When may this host and this address be asked: pure rules; times are milliseconds of a clock that never jumps."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from math import ceil

from weft.config.sections import UrlserverSettings
from weft.model.fetch_error import HASTE_TRIES
from weft.urlserver.hosts import Host, Ip
from weft.urlserver.learned_rate import LearnedRate

RETRY_AFTER_MAX = 86_400_000
"""A server that asks for more than a day is asked again after a day."""
_MOST_COUNTED = 64
"""Requests to an address that are remembered, to count those within a span."""
_BEGUN_AFTER = 2000
"""By then a spider has begun a request that has not ended. One that hangs must not hold up its address for longer."""


@dataclass(frozen=True, slots=True)
class Politeness:
    host_gap: int
    """Between two requests to a host, by the rate in the settings alone."""
    host_concurrent: int
    lag: int
    """How late a spider may begin a request."""
    ip_gap: int
    ip_count: int
    ip_span: int
    """Within so many milliseconds there are at most `ip_count` requests to an address."""
    ip_concurrent: int
    backoff_first: int
    backoff_max: int
    patience: int
    """A host that waits longer than this for its Retry-After or back-off gives up its queue."""
    learned: LearnedRate

    @classmethod
    def from_settings(cls, settings: UrlserverSettings) -> Politeness:
        """Gaps in whole milliseconds, never rounded down."""
        lag = ceil(settings.spider_lag * 1000)
        ip_count = min(_MOST_COUNTED, max(1, int(settings.req_ip_per_sec)))
        return cls(
            host_gap=ceil(1000 / settings.req_host_per_sec),
            host_concurrent=settings.req_host_concurrent,
            lag=lag,
            ip_gap=ceil(1000 / settings.req_ip_per_sec),
            ip_count=ip_count,
            ip_span=ceil(1000 * ip_count / settings.req_ip_per_sec),
            ip_concurrent=settings.req_ip_concurrent,
            backoff_first=ceil(settings.backoff_first * 1000),
            backoff_max=ceil(settings.backoff_max * 1000),
            patience=ceil(settings.slot_patience * 1000),
            learned=LearnedRate.from_settings(settings),
        )

    def next_start(self, host: Host) -> int:
        moment = host.last + self.gap(host)
        return moment if moment > host.wait_until else host.wait_until

    def gap(self, host: Host) -> int:
        """Between two requests to a host: by its delay, its rate or what was learned; wider where only starts count.

        One request at a time, the end of one lies before the start of the next whatever the spider does. Otherwise
        a spider that began one request late and the next at once would bring them too close to each other.
        """
        # Not max(): this runs several times for each URL.
        gap = host.rate_gap or self.host_gap
        gap = max(gap, host.learned_gap)
        if host.delay:
            return host.delay if host.delay > gap else gap
        return gap + self.lag if (host.site_concurrent or self.host_concurrent) > 1 else gap

    def places(self, host: Host) -> int:
        """How many requests the host may have at the same time; one if it has a delay of its own."""
        return 1 if host.delay else host.site_concurrent or self.host_concurrent

    def has_place(self, host: Host) -> bool:
        return not host.active or host.active.bit_count() < self.places(host)

    def begin(self, host: Host, ip: Ip, now: int) -> int:
        """A request starts; returns the place that it takes in the active part."""
        place = (~host.active & (host.active + 1)).bit_length() - 1
        host.active |= 1 << place
        host.last = now
        ip.active += 1
        ip.last = now
        self._note_begun(ip, now + _BEGUN_AFTER)
        return place

    def end(self, host: Host, ip: Ip, place: int, sent_at: int, now: int) -> None:
        """A request ended; one at a time, the gap is counted from here."""
        host.active &= ~(1 << place)
        ip.active -= 1
        if self.places(host) == 1 and now > host.last:
            host.last = now
        if sent_at + _BEGUN_AFTER in ip.begun:
            ip.begun.remove(sent_at + _BEGUN_AFTER)
        self._note_begun(ip, now)

    def _note_begun(self, ip: Ip, moment: int) -> None:
        """A request to the address begins before this moment; the first of a span's requests decides about the next.

        Spiders, networks and busy machines delay requests: what was sent evenly may arrive in bunches. But when a
        request has ended, it has begun before.
        """
        insort(ip.begun, moment)
        if len(ip.begun) > self.ip_count:
            del ip.begun[0]
        ip.next_start = ip.last + self.ip_gap
        if len(ip.begun) == self.ip_count and ip.begun[0] + self.ip_span > ip.next_start:
            ip.next_start = ip.begun[0] + self.ip_span

    def fail(self, host: Host, now: int, reason: str, retry_after: int = 0) -> None:
        """The host failed or asked for patience: wait as long as it asks, or twice as long as last time.

        One that goes on refusing after the waits that it asked for waits longer than it asks.
        """
        host.failures += 1
        backoff = min(self.backoff_max, self.backoff_first << min(host.failures - 1, 30))
        asked = min(retry_after, RETRY_AFTER_MAX)
        wait = max(asked, backoff) if host.failures > HASTE_TRIES else asked or backoff
        if now + wait > host.wait_until:
            host.wait_until, host.wait_reason = now + wait, reason
        if retry_after and now + wait > host.asked_until:
            host.asked_until, host.asked_reason = now + wait, reason

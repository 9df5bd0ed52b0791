"""What the URL server remembers of a web host and of an address."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from weft.model.host import domain_of_host
from weft.model.site import NO_SETTINGS, SiteSettings
from weft.urlserver.packed_link import PackedLink

if TYPE_CHECKING:
    from weft.urlserver.origin_robots import OriginRules

NEVER = 1 << 62
"""A moment that does not come."""
ARRIVING, UNSEATED = -2, -1
"""In place of a slot number: the host's address is not known yet; it has no slot."""
NEEDS_ADDRESS, NEEDS_ROBOTS, NEEDS_MEMORY = 1, 2, 4
"""What a host must learn before it may be asked, one bit each: where it is; before its pages, what its robots.txt
says; and what the control plane remembers of that, because a Crawl-delay holds for every request."""


class Ip:
    """An address (or an IPv6 /64) and the hosts that live there."""

    __slots__ = (
        "active",
        "begun",
        "hosts",
        "is_crowded",
        "key",
        "last",
        "next_start",
        "part",
        "planned",
        "queued",
        "waiting",
    )

    def __init__(self, key: str, part: int) -> None:
        self.key = key
        self.part = part
        self.active = 0
        self.last = 0
        """When one of its hosts was last asked."""
        self.next_start = 0
        self.begun: list[int] = []
        """By when each of the last few requests had begun, in order."""
        self.hosts: list[Host] = []
        self.queued = 0
        self.is_crowded = False
        self.waiting: list[int] = []
        """Heap of (moment, slot) of its hosts, each in one integer."""
        self.planned = NEVER
        """The moment for which it is in the schedule."""


class Host:
    """A web host: its links in order, its clock, what it must learn first."""

    __slots__ = (
        "active",
        "address",
        "asked_reason",
        "asked_until",
        "clean",
        "counted_at",
        "crawl_delay",
        "delay",
        "domain",
        "due",
        "expires",
        "failures",
        "http",
        "https",
        "ip",
        "just_located_until",
        "last",
        "learned_gap",
        "links",
        "name",
        "needs",
        "rate",
        "rate_gap",
        "refused_rate",
        "settings",
        "site_concurrent",
        "site_delay",
        "slot",
        "slowed_at",
        "steady",
        "wait_reason",
        "wait_until",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        domain = domain_of_host(name)
        self.domain = name if domain == name else domain
        """Its registrable domain."""
        self.slot = ARRIVING
        self.links: list[PackedLink] = []
        self.active = 0
        """One bit for each place of the active part that is taken."""
        self.needs = NEEDS_ADDRESS
        self.ip: Ip | None = None
        self.counted_at: Ip | None = None
        """Where it was when it got its slot: the address that the slot is counted for."""
        self.address = ""
        self.expires = 0
        """When the address must be looked up again."""
        self.just_located_until = 0
        """Until when one request may use an address that has expired, because it was looked up for that request."""
        self.http: OriginRules | None = None
        self.https: OriginRules | None = None
        self.last = 0
        """When it was last asked; one request at a time: when the last answer ended."""
        self.settings = NO_SETTINGS
        """What is set for its sites."""
        self.crawl_delay = self.site_delay = self.delay = 0
        """By its robots.txt, by its settings, and the longer of the two, which is obeyed."""
        self.rate_gap = self.site_concurrent = 0
        """By its settings, instead of those of all hosts; 0: not set."""
        self.wait_until = 0
        """The end of its Retry-After or back-off."""
        self.asked_until = 0
        """The end of its Retry-After."""
        self.wait_reason = self.asked_reason = ""
        """Why it has to wait until then, in the words of `model/wait_reason`."""
        self.failures = 0
        self.rate = self.learned_gap = 0
        """The rate that was learned, in requests per 1000 s, and the gap that follows; 0: as the settings allow."""
        self.refused_rate = 0
        """The rate at which it last asked us to slow down; 0: it never did."""
        self.slowed_at = 0
        self.clean = 0
        """Answers since its rate last changed, none of which asked us to slow down."""
        self.steady = 0
        """How often in a row it asked us to slow down at about the same rate."""
        self.due = 0
        """The moment under which it waits with its address, or until which it needs no slot; 0: neither."""

    def obey_crawl_delay(self, delay: int) -> None:
        self.crawl_delay = delay
        self.delay = max(self.crawl_delay, self.site_delay)

    def obey_settings(self, settings: SiteSettings) -> None:
        self.settings = settings
        self.site_delay = ceil((settings.delay or 0) * 1000)
        self.delay = max(self.crawl_delay, self.site_delay)
        self.rate_gap = ceil(1000 / settings.rate) if settings.rate else 0
        self.site_concurrent = settings.concurrent or 0

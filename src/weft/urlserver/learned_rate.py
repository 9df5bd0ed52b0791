"""How often a host may be asked, learned from its answers: halved when it refuses, raised while it does not."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from weft.config.sections import UrlserverSettings
from weft.urlserver.hosts import Host

CLEAN: Final = 20
"""Answers without a refusal after which the rate is raised."""
_STEPS: Final = 20
"""The rate is raised by one part in so many of the setting."""
_CAREFUL: Final = 10
"""So many times longer the host must be clean before it is asked again at the rate that it refused."""
_MOST_CAREFUL: Final = 4
"""That time doubles with every refusal at about the same rate, so many times."""


@dataclass(frozen=True, slots=True)
class LearnedRate:
    """Rates are requests per 1000 s, so that they are whole numbers."""

    full: int
    """By the settings; unless its site sets a rate, no host is ever asked more often."""
    least: int
    """However often a host refuses, it is asked once in `crawl_delay_max`, unless the settings say less."""

    @classmethod
    def from_settings(cls, settings: UrlserverSettings) -> LearnedRate:
        full = max(1, int(settings.req_host_per_sec * 1000))
        return cls(full, min(full, max(1, int(1000 / max(settings.crawl_delay_max, 1)))))

    def full_of(self, host: Host) -> int:
        """The rate that this host may be asked at most."""
        return 1_000_000 // host.rate_gap if host.rate_gap else self.full

    def step_of(self, host: Host) -> int:
        return max(1, self.full_of(host) // _STEPS)

    def remember(self, host: Host, rate: int) -> None:
        """What an earlier URL server learned."""
        self._set(host, rate)

    def refused(self, host: Host, sent_at: int, now: int) -> bool:
        """The host asked us to slow down; False: that request was sent before we last did."""
        if host.slowed_at and sent_at <= host.slowed_at:
            return False
        rate = host.rate or self.full_of(host)
        is_where_it_was = abs(rate - host.refused_rate) <= 2 * self.step_of(host)
        host.steady = min(host.steady + 1, _MOST_CAREFUL) if is_where_it_was else 0
        host.refused_rate, host.slowed_at = rate, now
        self._set(host, max(self.least, rate // 2))
        return True

    def answered(self, host: Host) -> bool:
        """The host answered without a refusal; whether its rate is raised."""
        host.clean += 1
        if not host.rate or host.clean < self._needed(host):
            return False
        self._set(host, host.rate + self.step_of(host))
        return True

    def _needed(self, host: Host) -> int:
        """Clean answers before the next step; more before one that leads to where the host refused."""
        is_below = host.rate < host.refused_rate <= host.rate + 2 * self.step_of(host)
        return CLEAN * _CAREFUL << host.steady if is_below else CLEAN

    def _set(self, host: Host, rate: int) -> None:
        host.clean = 0
        host.rate = rate if rate < self.full_of(host) else 0
        host.learned_gap = ceil(1_000_000 / host.rate) if host.rate else 0

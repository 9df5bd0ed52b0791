"""What a crawler promised: the limits that it is judged by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The defaults are weft's own. Times are seconds.

    `tolerance`: what the measuring may be wrong by, in the crawler's favour. `reaction`: how long a crawler that asks a
    host several times at once may take to hear of a Retry-After. `robots_age`: how long a robots.txt holds.
    `refetch_after`: a page that is asked again so long after it was answered is crawled anew, not fetched twice.
    `user_agent`: the whole header; None takes any but an empty one. `scope`: host names, or `.domain` for all hosts of
    a domain; empty means all.
    """

    host_concurrent: int = 1
    host_per_sec: float = 1.0
    ip_concurrent: int = 4
    ip_per_sec: float = 8.0
    crawl_delay_max: float = 60.0
    robots_age: float = 86_400.0
    allowed_refetches: int = 0
    refetch_after: float = math.inf
    tolerance: float = 0.005
    reaction: float = 1.0
    user_agent: str | None = None
    scope: frozenset[str] = field(default_factory=frozenset)

    def is_in_scope(self, host: str) -> bool:
        return not self.scope or host in self.scope or any(self._is_below(host, name) for name in self.scope)

    @staticmethod
    def _is_below(host: str, name: str) -> bool:
        return name.startswith(".") and (host.endswith(name) or host == name[1:])

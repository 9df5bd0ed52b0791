"""Not faster than that: a bucket of tokens, one for each page."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Holds up whoever takes more than `rate` pages a second; what was not used in the last second may be used now."""

    def __init__(
        self, rate: float, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._rate, self._now, self._sleep = rate, now, sleep
        self._tokens, self._at = rate, now()

    def take(self, count: int) -> None:
        """Wait until `count` pages more are not too many."""
        now = self._now()
        self._tokens = min(self._rate, self._tokens + (now - self._at) * self._rate) - count
        self._at = now
        if self._tokens < 0:
            self._sleep(-self._tokens / self._rate)

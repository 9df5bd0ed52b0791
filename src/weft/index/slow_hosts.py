"""Web hosts whose pages took long to parse lately."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

REMEMBERED: Final = 1000
FORGOTTEN_AFTER: Final = 600.0
"""Seconds."""


class SlowHosts:
    """Remembers up to 1,000 web hosts, each for ten minutes after its last slow page."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until: dict[str, float] = {}

    def add(self, web_host: str) -> None:
        self._until.pop(web_host, None)
        self._until[web_host] = self._now() + FORGOTTEN_AFTER
        if len(self._until) > REMEMBERED:
            del self._until[next(iter(self._until))]

    def __contains__(self, web_host: str) -> bool:
        until = self._until.get(web_host)
        if until is not None and until <= self._now():
            del self._until[web_host]
            return False
        return until is not None

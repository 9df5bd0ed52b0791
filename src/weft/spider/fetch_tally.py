"""Counts what a spider fetched since it started."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec

from weft.mgmt.values import Result
from weft.model.fetch_error import FetchError
from weft.roles.histogram import FETCHING, Histogram

_KNOWN: Final = frozenset(status.value for status in HTTPStatus)


@dataclass(slots=True)
class FetchTally:
    """Of pages and robots.txt alike."""

    fetches: int = 0
    received: int = 0
    """Bytes of heads and bodies, as they came."""
    statuses: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: Histogram = field(default_factory=lambda: Histogram(FETCHING))

    def add(self, result: Result) -> None:
        self.fetches += 1
        if result.status:
            self.statuses[status_name(result.status)] += 1
        if result.error:
            self.errors[result.error] += 1
        self.seconds.add(max(0, result.ended - result.started) / 1000)

    def lose(self) -> None:
        """A fetch ended without a result."""
        self.fetches += 1
        self.errors[str(FetchError.LOST)] += 1

    def facts(self) -> dict[str, Any]:
        return {
            "fetches": self.fetches,
            "received": self.received,
            "statuses": dict(self.statuses),
            "errors": dict(self.errors),
            "fetch_seconds": msgspec.to_builtins(self.seconds.facts()),
        }


def status_name(status: int) -> str:
    """A server may answer with any number: those that nobody defined are counted together, as `5xx`."""
    return str(status) if status in _KNOWN else f"{status // 100}xx"

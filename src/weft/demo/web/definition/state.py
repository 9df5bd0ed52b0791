"""What changes while a web is served: versions of pages, pages that vanish, hosts that are switched."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import msgspec

from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.qualities import Quality, quality_of
from weft.demo.web.definition.traits import SWITCHABLE, Traits
from weft.errors import UsageError

MOST_CHANGES: Final = 1_000_000
CHANGES: Final = ("change", "vanish", "return", "switch", "advance")


class Change(msgspec.Struct, frozen=True, tag="change", omit_defaults=True, kw_only=True):
    """A control call, and its line in the log; `at` and `start` as in a request's line.

    `do` is `change`, `vanish` (with `status` 404 or 410) or `return` for the page `number` of `host`; `switch` for the
    host's traits; `advance` for the web's clock.
    """

    do: str
    host: int = 0
    number: int = 0
    status: int = 404
    traits: dict[str, Any] = {}
    seconds: float = 0.0
    at: float = 0.0
    start: float = 0.0


class State:
    """The mutable part of a web; what it does not know, the plan decides."""

    def __init__(self, plan: WebPlan, clock: Callable[[], float] = time.time) -> None:
        self._plan, self._clock = plan, clock
        self._offset = 0.0
        self._versions: dict[tuple[int, int], int] = {}
        self._vanished: dict[tuple[int, int], int] = {}
        self._traits: dict[int, Traits] = {}
        self.quality = lru_cache(maxsize=65_536)(self._quality)
        self._moves_by_itself = bool(plan.profile.changing or plan.profile.vanishing)

    def now(self) -> float:
        """The web's own time, in seconds since 1970."""
        return self._clock() + self._offset

    def traits(self, host: DemoHost) -> Traits:
        return self._traits.get(host.number, host.traits)

    def version(self, host: DemoHost, number: int) -> int:
        """Rises with every change of the page."""
        told = self._versions.get((host.number, number), 0)
        every = self.quality(host.number, number).changes_every if self._moves_by_itself else 0.0
        return told + (self._periods(every) if every else 0)

    def vanished(self, host: DemoHost, number: int) -> int:
        """404 or 410 while the page is away, else 0."""
        told = self._vanished.get((host.number, number), 0)
        every = self.quality(host.number, number).vanishes_every if self._moves_by_itself else 0.0
        return told or (404 if every and self._periods(every) % 2 else 0)

    def stands_until(self, host: DemoHost, number: int) -> float:
        """When the page changes or vanishes by itself next, in the web's time."""
        if not self._moves_by_itself:
            return float("inf")
        quality = self.quality(host.number, number)
        periods = (every for every in (quality.changes_every, quality.vanishes_every) if every)
        return min((self._plan.epoch + (self._periods(every) + 1) * every for every in periods), default=float("inf"))

    def apply(self, change: Change, host: DemoHost | None = None) -> None:
        """Make the change; raises UsageError for one that makes no sense."""
        key = (change.host, change.number)
        if change.do == "advance":
            self._offset += change.seconds
        elif change.do == "switch" and host is not None:
            self._traits[change.host] = _switched(self.traits(host), change.traits)
        elif change.do == "change":
            self._versions[key] = self._versions.get(key, 0) + 1
        elif change.do == "vanish":
            self._vanished[key] = change.status
        elif change.do == "return":
            self._vanished.pop(key, None)
        else:
            raise UsageError(f"a web cannot {change.do!r}; expected one of: {', '.join(CHANGES)}")
        if len(self._versions) + len(self._vanished) > MOST_CHANGES:
            raise UsageError(f"more than {MOST_CHANGES} pages were changed; start a new web")

    def _quality(self, host: int, number: int) -> Quality:
        return quality_of(self._plan, host, number)

    def _periods(self, every: float) -> int:
        return max(0, int((self.now() - self._plan.epoch) // every))


def _switched(traits: Traits, changes: dict[str, Any]) -> Traits:
    unknown = sorted(set(changes) - set(SWITCHABLE))
    if unknown:
        raise UsageError(f"a host has no trait {unknown[0]!r} to switch; expected one of: {', '.join(SWITCHABLE)}")
    try:
        return msgspec.convert({**msgspec.to_builtins(replace(traits)), **changes}, Traits)
    except msgspec.ValidationError as error:
        raise UsageError(f"a trait cannot be switched so: {error}") from error

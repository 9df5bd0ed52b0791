"""A whole web by its plan: hosts, links, state. What server, truth and judge start from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from weft.demo.web.definition.hosts import DemoHost, Hosts
from weft.demo.web.definition.links import Linker
from weft.demo.web.definition.paths import number_of
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.state import Change, State
from weft.demo.web.definition.words import Language, language
from weft.errors import UsageError


@dataclass(frozen=True, slots=True)
class World:
    plan: WebPlan
    hosts: Hosts
    state: State
    linker: Linker
    language: Language

    def all_hosts(self) -> Iterator[DemoHost]:
        return map(self.hosts.numbered, range(self.plan.hosts))

    def url(self, host: int, number: int = 0) -> str:
        """The URL of a resource."""
        return self.linker.url(self.hosts.numbered(host), number)

    def place(self, url: str) -> tuple[DemoHost, int]:
        """Which host and resource a URL means; raises UsageError when it is none of this web."""
        parts = urlsplit(url)
        host = self.hosts.named(parts.hostname or "")
        if host is None:
            raise UsageError(f"{url} is on no host of this web; expected one such as {self.url(0)}")
        number = number_of(self.plan.seed, host, parts.path or "/")
        if number is None:
            raise UsageError(f"{url} is no page of this web")
        return host, number

    def apply(self, change: Change) -> None:
        if not 0 <= change.host < self.plan.hosts:
            raise UsageError(f"there is no host {change.host}; expected 0 to {self.plan.hosts - 1}")
        self.state.apply(change, self.hosts.numbered(change.host))


def make_world(plan: WebPlan, clock: Callable[[], float] = time.time) -> World:
    hosts, state = Hosts(plan), State(plan, clock)
    return World(plan, hosts, state, Linker(plan, hosts, state), language(plan.seed))

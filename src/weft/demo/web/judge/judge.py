"""Reads the log in the order of the requests' starts and asks every rule about every request."""

from __future__ import annotations

import struct
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec

from weft.demo.web.answering.responses import DemoSite
from weft.demo.web.answering.web import extra_sites
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.state import Change
from weft.demo.web.definition.world import World, make_world
from weft.demo.web.judge.limits import Limits
from weft.demo.web.judge.manners import Cookies, RateScope, Refetch, RightAddress, UserAgent
from weft.demo.web.judge.obedience import CrawlDelay, Disallowed, RobotsFirst, RobotsFresh
from weft.demo.web.judge.rates import Concurrency, HostGap, IpRate, RetryAfter, host_of, ip_of
from weft.demo.web.judge.robots_memory import RobotsMemory
from weft.demo.web.log import Line, RequestLine, plan_of, read_log
from weft.linkindex.external_sort import ExternalSort

EXAMPLES: Final = 3
SORT_MEMORY: Final = 128 << 20
_START: Final = struct.Struct(">d")


class JudgeRule(Protocol):
    def look(self, line: RequestLine) -> str | None:
        """What is wrong with a request; called once for each, in the order of their starts."""
        ...


class RuleReport(msgspec.Struct, frozen=True):
    """`count` of requests that broke the rule, the first `examples`, and how many were `allowed`."""

    rule: str
    count: int
    allowed: int
    examples: list[str]

    @property
    def is_broken(self) -> bool:
        return self.count > self.allowed


class Report(msgspec.Struct, frozen=True):
    requests: int
    hosts: int
    addresses: int
    connections: int
    sent: int
    seconds: float
    statuses: dict[int, int]
    rules: list[RuleReport]

    @property
    def violations(self) -> int:
        return sum(rule.count for rule in self.rules if rule.is_broken)

    def count(self, rule: str) -> int:
        return next(found.count for found in self.rules if found.rule == rule)


def judge(log: Path, limits: Limits) -> Report:
    """Judge a whole log; raises LogError when it is none."""
    return judge_lines(plan_of(log), read_log(log), limits)


def judge_lines(plan: WebPlan, lines: Iterable[Line], limits: Limits) -> Report:
    """Judge lines in any order. Memory: the sort's bound, and about 100 bytes for each URL."""
    court = _Court(plan, limits)
    with tempfile.TemporaryDirectory(prefix="weft-judge-") as directory:
        for line in _by_start(lines, Path(directory)):
            court.hear(line)
    return court.report()


def _by_start(lines: Iterable[Line], directory: Path) -> Iterator[RequestLine | Change]:
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(RequestLine | Change).decode
    sort = ExternalSort(directory, SORT_MEMORY)
    for line in lines:
        if isinstance(line, RequestLine | Change):
            # A positive float sorts as its bytes do.
            sort.add(_START.pack(line.start) + encode(line))
    return (decode(record[_START.size :]) for record in sort)


class _Court:
    def __init__(self, plan: WebPlan, limits: Limits) -> None:
        self._limits, self._world = limits, make_world(plan)
        extra = extra_sites(plan)
        self._memory = RobotsMemory(self._world, extra, limits.tolerance)
        self._rules = _rules(self._world, extra, self._memory, limits)
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {name: [] for name in self._rules}
        self._statuses: Counter[int] = Counter()
        self._hosts: set[tuple[str, int]] = set()
        self._addresses: set[str] = set()
        self._connections: set[int] = set()
        self._sent = 0
        self._first = self._last = 0.0

    def hear(self, line: RequestLine | Change) -> None:
        if isinstance(line, Change):
            self._world.apply(line)
            return
        self._count(line)
        for name, rule in self._rules.items():
            wrong = rule.look(line)
            if wrong is not None:
                self._counts[name] += 1
                if len(self._examples[name]) < EXAMPLES:
                    self._examples[name].append(_told(line, wrong))
        self._memory.note(line)

    def _count(self, line: RequestLine) -> None:
        self._statuses[line.status] += 1
        self._hosts.add(host_of(line))
        self._addresses.add(line.address)
        self._connections.add(line.connection)
        self._sent += line.sent
        self._first = self._first or line.start
        self._last = max(self._last, line.end)

    def report(self) -> Report:
        allowed = {"refetch": self._limits.allowed_refetches}
        rules = [
            RuleReport(name, self._counts[name], allowed.get(name, 0), examples)
            for name, examples in self._examples.items()
        ]
        return Report(
            requests=self._statuses.total(),
            hosts=len(self._hosts),
            addresses=len(self._addresses),
            connections=len(self._connections),
            sent=self._sent,
            seconds=round(self._last - self._first, 3),
            statuses=dict(sorted(self._statuses.items())),
            rules=rules,
        )


def _rules(world: World, extra: Mapping[str, DemoSite], memory: RobotsMemory, limits: Limits) -> dict[str, JudgeRule]:
    return {
        "host_concurrency": Concurrency(limits.host_concurrent, limits.tolerance, host_of),
        "ip_concurrency": Concurrency(limits.ip_concurrent, limits.tolerance, ip_of),
        "host_gap": HostGap(limits),
        "ip_rate": IpRate(limits),
        "crawl_delay": CrawlDelay(memory, limits),
        "retry_after": RetryAfter(limits),
        "disallowed": Disallowed(memory),
        "robots_first": RobotsFirst(memory),
        "robots_expired": RobotsFresh(memory, limits),
        "refetch": Refetch(limits),
        "cookie": Cookies(),
        "user_agent": UserAgent(limits),
        "scope": RateScope(limits),
        "address": RightAddress(world, extra),
    }


def _told(line: RequestLine, wrong: str) -> str:
    when = datetime.fromtimestamp(line.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{when} {line.method} {line.host}:{line.port}{line.target} (connection {line.connection}): {wrong}"

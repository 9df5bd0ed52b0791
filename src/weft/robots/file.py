"""A robots.txt: groups of rules for named crawlers, and the sitemaps of the site."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from weft.robots.encoding import canonical_pattern
from weft.robots.lines import LIMIT, LineKey, RobotsLine, lines_of
from weft.robots.rules import RobotsRule, Rules

EVERYBODY: Final = "*"
# RFC 9309 knows no digits here, but names such as bot2 occur; ending at them would make bot2's rules those of bot.
_TOKEN: Final = re.compile(rb"[A-Za-z0-9_-]+")
_EVERYBODY: Final = re.compile(rb"\*(?:\s|\Z)")
_DELAY: Final = re.compile(rb"[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}")


@dataclass(slots=True)
class Group:
    """Rules and whom they are for."""

    agents: set[str] = field(default_factory=set)
    rules: list[RobotsRule] = field(default_factory=list)


@dataclass(slots=True)
class Delay:
    """A Crawl-delay is for the agents named right before it; unlike a rule it is not for those that join later."""

    agents: set[str] = field(default_factory=set)
    seconds: float | None = None

    def ask(self, seconds: float | None) -> None:
        """The longest one that is asked for counts."""
        if seconds is not None:
            self.seconds = max(seconds, self.seconds or 0.0)


@dataclass(frozen=True, slots=True)
class RobotsFile:
    groups: tuple[Group, ...] = ()
    delays: tuple[Delay, ...] = ()
    sitemaps: tuple[str, ...] = ()
    """As they are written, each once; RFC 9309 wants whole URLs, but relative ones occur."""

    def rules_for(self, agent: str) -> Rules:
        """What the groups of this product token say together, or those for everybody when it has none."""
        token = agent.lower()
        if not any(token in group.agents for group in self.groups):
            token = EVERYBODY
        # An empty path is no rule: `Disallow:` forbids nothing.
        rules = (rule for group in self.groups if token in group.agents for rule in group.rules if rule.path)
        delays = [delay.seconds for delay in self.delays if token in delay.agents and delay.seconds is not None]
        return Rules(rules, max(delays, default=None))


def is_product_token(agent: str) -> bool:
    return agent.isascii() and _TOKEN.fullmatch(agent.encode()) is not None


def parse(body: bytes, limit: int = LIMIT) -> RobotsFile:
    """Read the first `limit` bytes of a robots.txt; there is nothing that cannot be read."""
    reading = _Reading()
    for line in lines_of(body, limit):
        reading.take(line)
    return reading.finish()


class _Reading:
    """Where a reader of the file is: in which group, and whether that may still get agents."""

    def __init__(self) -> None:
        self._groups: list[Group] = []
        self._delays: list[Delay] = []
        self._sitemaps: dict[str, None] = {}

    def take(self, line: RobotsLine) -> None:
        if line.key is LineKey.USER_AGENT:
            self._take_agent(_agent(line.value))
        elif line.key is LineKey.SITEMAP:
            if line.value:
                self._sitemaps.setdefault(line.value.decode(errors="replace"))
        elif self._groups:
            self._take_rule(line)

    def finish(self) -> RobotsFile:
        return RobotsFile(tuple(self._groups), tuple(self._delays), tuple(self._sitemaps))

    def _take_agent(self, agent: str) -> None:
        # Only Allow and Disallow, also empty ones, end the list of agents (RFC 9309, 2.2.4).
        is_new = not self._groups or bool(self._groups[-1].rules)
        if is_new:
            self._groups.append(Group())
        if is_new or self._delays[-1].seconds is not None:
            self._delays.append(Delay())
        if agent:
            self._groups[-1].agents.add(agent)
            self._delays[-1].agents.add(agent)

    def _take_rule(self, line: RobotsLine) -> None:
        if line.key is LineKey.CRAWL_DELAY:
            self._delays[-1].ask(_seconds(line.value))
        else:
            path = canonical_pattern(line.value)
            self._groups[-1].rules.append(RobotsRule(line.key is LineKey.ALLOW, path, line.number, line.text))


def _agent(value: bytes) -> str:
    """The product token that a User-agent line begins with, in lower case; empty when it names nobody."""
    if _EVERYBODY.match(value):
        return EVERYBODY
    token = _TOKEN.match(value)
    return token[0].decode().lower() if token else ""


def _seconds(value: bytes) -> float | None:
    number = _DELAY.match(value)
    return float(number[0]) if number else None

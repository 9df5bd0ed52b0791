"""What one crawler may fetch from one site."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from weft.robots.encoding import canonical_target, forms
from weft.robots.literal_rules import LiteralRules
from weft.robots.match_steps import MatchSteps, TooManySteps
from weft.robots.packed_bytes import PackedBytes
from weft.robots.pattern import END, STAR, shortest_pattern
from weft.robots.wildcard_rules import RankedPattern, WildcardRules

_ROBOTS_TXT: Final = "/robots.txt"


class RobotsRule(NamedTuple):
    is_allow: bool
    path: bytes
    """As canonical_pattern() spells it."""
    number: int | None
    text: str

    @property
    def strength(self) -> tuple[int, bool, int]:
        """What wins over what: the most octets (RFC 9309, 2.2.2), of two equal ones the Allow, then the first line."""
        return len(self.path), self.is_allow, -(self.number or 0)


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    line_number: int | None = None
    """The line that decided; None when none did."""
    line_text: str = ""
    """That line, or why all is refused without one."""
    is_too_costly: bool = False
    """Refused because finding the line that decides would take too long."""


_FREE: Final = Decision(allowed=True)
TOO_COSTLY: Final = Decision(False, None, "the rules of robots.txt take too long to match with this URL", True)


class Rules:
    """The rules of every group that concerns one crawler.

    Rules are numbered by strength, 0 is the strongest: their rank. The lowest rank that matches decides. Literal rules
    and rules with a star are looked up apart from each other. Everything is packed: a file with many rules takes a few
    times its own size.
    """

    __slots__ = ("__weakref__", "_allows", "_literals", "_numbers", "_texts", "_wildcards", "crawl_delay")

    def __init__(self, rules: Iterable[RobotsRule] = (), crawl_delay: float | None = None) -> None:
        self.crawl_delay = crawl_delay
        """Seconds between two requests that the site asks for."""
        ranked = _strongest_first(rules)
        self._allows = bytes(rule.is_allow for rule in ranked)
        self._numbers = array("I", (rule.number or 0 for rule in ranked))
        self._texts = PackedBytes(rule.text.encode() for rule in ranked)
        literals, wildcards = _patterns(ranked)
        self._literals, self._wildcards = LiteralRules(literals), WildcardRules(wildcards)

    @classmethod
    def closed(cls, why: str) -> Self:
        """Rules that refuse everything but robots.txt, and say why."""
        return cls([RobotsRule(False, STAR, None, why)])

    @property
    def size(self) -> int:
        """Bytes of memory, about."""
        own = len(self._allows) + len(self._numbers) * self._numbers.itemsize + self._texts.size
        return own + self._literals.size + self._wildcards.size

    def decide(self, target: str) -> Decision:
        """Judge the path and query of a URL, at a cost that no file can raise above a bound."""
        if target.partition("?")[0] == _ROBOTS_TXT:
            return _FREE
        try:
            rank = self._strongest(target)
        except TooManySteps:
            return TOO_COSTLY
        if rank == len(self._allows):
            return _FREE
        return Decision(bool(self._allows[rank]), self._numbers[rank] or None, self._texts[rank].decode())

    def _strongest(self, target: str) -> int:
        """The rank of the rule that decides; the number of all rules if none does."""
        marked = [form + END for form in forms(canonical_target(target))]
        best = len(self._allows)
        for each in marked:
            best = min(best, self._literals.strongest(each, best))
        steps = MatchSteps()
        for each in marked:
            best = self._wildcards.strongest(each, best, steps)
        return best


def _strongest_first(rules: Iterable[RobotsRule]) -> list[RobotsRule]:
    # Of two rules with one path only the stronger can ever decide.
    by_path: dict[bytes, RobotsRule] = {}
    for rule in rules:
        if rule.strength > by_path.setdefault(rule.path, rule).strength:
            by_path[rule.path] = rule
    return sorted(by_path.values(), key=_strength, reverse=True)


def _strength(rule: RobotsRule) -> tuple[int, bool, int]:
    return rule.strength


def _patterns(ranked: Iterable[RobotsRule]) -> tuple[dict[bytes, int], list[RankedPattern]]:
    """Literal patterns with the strongest rank of each, and those with a star, strongest first."""
    literals, wildcards = dict[bytes, int](), list[RankedPattern]()
    for rank, rule in enumerate(ranked):
        for form in forms(rule.path):
            pattern = shortest_pattern(form)
            if STAR in pattern:
                wildcards.append(RankedPattern(rank, pattern))
            else:
                literals.setdefault(pattern, rank)
    return literals, wildcards

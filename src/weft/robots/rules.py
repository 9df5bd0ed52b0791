"""What one crawler may fetch from one site."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from weft.robots.encoding import canonical_target, forms
from weft.robots.pattern import PathPattern, pattern_of

_ROBOTS_TXT: Final = "/robots.txt"


class RobotsRule(NamedTuple):
    is_allow: bool
    path: bytes
    """As canonical_pattern() spells it."""
    number: int | None
    text: str

    @property
    def rank(self) -> tuple[int, bool, int]:
        """What wins over what: the most octets (RFC 9309, 2.2.2), of two equal ones the Allow, then the first line."""
        return len(self.path), self.is_allow, -(self.number or 0)


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    line_number: int | None = None
    """The line that decided; None when none did."""
    line_text: str = ""
    """That line, or why all is refused without one."""


class _Candidate(NamedTuple):
    rank: tuple[int, bool, int]
    pattern: PathPattern
    rule: RobotsRule


_FREE: Final = Decision(allowed=True)


class Rules:
    """The rules of every group that concerns one crawler.

    Rules are kept by their head, the literal bytes before the first `*`, in byte order. All heads that a target begins
    with are then found by one bisection: the last head that is not greater than the target, and what that one begins
    with itself. So literal rules cost next to nothing however many there are, and of those with `*` only the ones
    whose head fits are tried, strongest first.
    """

    __slots__ = ("_candidates", "_heads", "_parents", "crawl_delay")

    def __init__(self, rules: Iterable[RobotsRule] = (), crawl_delay: float | None = None) -> None:
        self.crawl_delay = crawl_delay
        """Seconds between two requests that the site asks for."""
        by_head = _by_head(rules)
        self._heads = sorted(by_head)
        self._parents = _parents(self._heads)
        self._candidates = [sorted(by_head[head], key=_rank, reverse=True) for head in self._heads]

    @classmethod
    def closed(cls, why: str) -> Self:
        """Rules that refuse everything but robots.txt, and say why."""
        return cls([RobotsRule(False, b"*", None, why)])

    def decide(self, target: str) -> Decision:
        """Judge the path and query of a URL."""
        if target.partition("?")[0] == _ROBOTS_TXT:
            return _FREE
        found = [self._strongest(form) for form in forms(canonical_target(target))]
        best = max(filter(None, found), key=_rank, default=None)
        return _FREE if best is None else Decision(best.rule.is_allow, best.rule.number, best.rule.text)

    def _strongest(self, target: bytes) -> _Candidate | None:
        best = None
        position = bisect_right(self._heads, target) - 1
        while position >= 0:
            if target.startswith(self._heads[position]):
                best = _stronger(best, self._candidates[position], target)
            position = self._parents[position]
        return best


def _stronger(best: _Candidate | None, candidates: list[_Candidate], target: bytes) -> _Candidate | None:
    """The first of `candidates`, strongest first, that matches and is stronger than `best`; else `best`."""
    for candidate in candidates:
        if best is not None and candidate.rank <= best.rank:
            break
        if candidate.pattern.follows(target):
            return candidate
    return best


def _by_head(rules: Iterable[RobotsRule]) -> dict[bytes, list[_Candidate]]:
    # Of two rules with one path only the stronger can ever decide.
    by_path: dict[bytes, RobotsRule] = {}
    for rule in rules:
        if rule.rank > by_path.setdefault(rule.path, rule).rank:
            by_path[rule.path] = rule
    by_head: dict[bytes, list[_Candidate]] = {}
    for rule in by_path.values():
        for form in forms(rule.path):
            pattern = pattern_of(form)
            by_head.setdefault(pattern.head, []).append(_Candidate(rule.rank, pattern, rule))
    return by_head


def _rank(candidate: _Candidate) -> tuple[int, bool, int]:
    return candidate.rank


def _parents(heads: list[bytes]) -> list[int]:
    """For each of the sorted heads the position of the longest other head that it begins with; -1: none."""
    parents, open_heads = [], list[int]()
    for position, head in enumerate(heads):
        while open_heads and not head.startswith(heads[open_heads[-1]]):
            open_heads.pop()
        parents.append(open_heads[-1] if open_heads else -1)
        open_heads.append(position)
    return parents

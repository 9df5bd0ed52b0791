"""Site patterns with their truth, crawled without sockets: what is avoided, and that nothing is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import rules
from rules_patterns import PATTERNS, Pattern

HELD_OUT = (201, 202, 203)
"""Seeds that were never looked at while the bounds were chosen."""
QUICK = {"session required", "ids", "language ignored", "print view, another text", "tabs", "only together"}


def check(pattern: Pattern, seed: int) -> None:
    measured = rules.crawl_learned(rules.make(pattern, seed))
    assert measured.wrong <= 0.005
    if pattern.has_duplicates and pattern.is_promised:
        assert measured.avoided >= 0.9


@pytest.mark.parametrize("pattern", [each for each in PATTERNS if each.name in QUICK], ids=lambda each: each.name)
def test_some_patterns_keep_both_bounds(pattern: Pattern) -> None:
    check(pattern, HELD_OUT[0])


@pytest.mark.long
@pytest.mark.parametrize("seed", HELD_OUT)
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_every_pattern_keeps_both_bounds(pattern: Pattern, seed: int) -> None:
    check(pattern, seed)


@pytest.mark.long
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_the_same_pages_are_seen_as_without_rules(pattern: Pattern) -> None:
    everything = rules.crawl_all(rules.make(pattern, HELD_OUT[0]))
    if everything.fetched >= rules.MOST:
        pytest.skip("a site without end")
    assert rules.crawl_learned(rules.make(pattern, HELD_OUT[0])).pages >= everything.pages * 0.995


def test_there_are_patterns_enough() -> None:
    assert len(PATTERNS) >= 20
    assert sum(each.has_duplicates and each.is_promised for each in PATTERNS) >= 10

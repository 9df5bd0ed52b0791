"""Site patterns with their truth, crawled without sockets: what is avoided, and that nothing is lost."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from rules import crawl_all, crawl_pairwise
from rules_simulation import MOST, SETTINGS, Simulation, simulate
from weft.demo.web.patterns.catalogue import PATTERNS
from weft.demo.web.patterns.pattern import Pattern
from weft.dispatcher.link_records import LinkPhase
from weft.dispatcher.parameters.rule_list import rules_of_domain
from weft.store.memory import MemoryStore

HELD_OUT = (201, 202, 203)
"""Seeds that were never looked at while the bounds were chosen."""
QUICK = {"session required", "ids", "print view, another text", "tabs", "only together", "session behind the path"}


def check(pattern: Pattern, seed: int) -> None:
    measured = simulate(pattern.server(seed))
    assert measured.wrong <= 0.005
    assert measured.pages > 1 or pattern.name == "one text for every URL"
    if pattern.is_promised:
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
    everything = crawl_all(pattern.server(HELD_OUT[0]))
    if everything.fetched >= MOST:
        pytest.skip("a site without end")
    assert simulate(pattern.server(HELD_OUT[0])).pages >= everything.pages * 0.995


def test_there_are_patterns_enough_and_the_measure_sees_what_the_plain_rule_loses() -> None:
    assert len(PATTERNS) >= 20
    assert len({each.host for each in PATTERNS}) == len(PATTERNS)
    assert sum(each.is_promised for each in PATTERNS) >= 15
    required = next(each for each in PATTERNS if each.name == "session required")
    assert crawl_pairwise(required.server(1)).wrong > 0.5


@pytest.mark.parametrize("name", ["one text for every URL", "random text"])
def test_hosts_that_say_nothing_about_parameters_end_and_leave_no_rule(name: str) -> None:
    pattern = next(each for each in PATTERNS if each.name == name)
    store = MemoryStore()
    crawl = Simulation(pattern.server(HELD_OUT[0]), store, SETTINGS)
    crawl.run()
    assert len(crawl.fetched) < MOST
    assert all(record.fetched for record in crawl.records()), "nothing is left out"
    assert [rule for rule in rules_of_domain(store, b"com.shop", SETTINGS) if not rule.dropped] == []


@pytest.mark.parametrize("seed", [HELD_OUT[0], *(pytest.param(seed, marks=pytest.mark.long) for seed in HELD_OUT[1:])])
def test_ids_with_noise_on_one_path_cost_at_most_two_fetches_for_each_page(seed: int) -> None:
    pattern = next(each for each in PATTERNS if each.name == "ids, noise and order")
    measured = simulate(pattern.server(seed))
    assert measured.fetched <= 2 * measured.pages
    assert measured.wrongly_hidden == 0


def test_what_stands_for_a_fetched_page_takes_its_place_when_the_page_is_due_again() -> None:
    pattern = next(each for each in PATTERNS if each.name == "ids, noise and order")
    crawl = Simulation(pattern.server(HELD_OUT[0]), MemoryStore(), SETTINGS)
    crawl.run()
    assert postponed(crawl)
    pages = {id_of(url) for url in crawl.fetched}
    crawl.clock.advance(40 * 86_400)
    later = crawl.clock.now()
    crawl.run()
    assert not postponed(crawl)
    shown = [record for record in crawl.records() if record.phase is LinkPhase.DUE]
    assert {id_of(record.url) for record in shown} == pages
    assert all(record.fetched >= later for record in shown)


def postponed(crawl: Simulation) -> list[str]:
    return [record.url for record in crawl.records() if record.phase is LinkPhase.DUE and not record.fetched]


def id_of(url: str) -> str:
    return dict(parse_qsl(urlsplit(url).query)).get("id", "")

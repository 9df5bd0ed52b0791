"""Rules are listed a bounded number at a time, in the same order whatever the size of the pages."""

from __future__ import annotations

import pytest

from support.parameter_learning import NEVER_SAMPLED, Learning
from support.web_changes import learn
from weft.answers import rules
from weft.answers.rules import RuleItem, list_rules, reduce_url
from weft.dispatcher.parameters.rule_list import rules_of_domain
from weft.errors import UsageError
from weft.model.domain import Domain
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRules

TEST_COM = Domain("test.com")


@pytest.fixture(scope="module")
def learned() -> Learning:
    learning = Learning()
    learn(learning)
    for host in ("a.example", "m.example", "z.example"):
        for session in range(4):
            learning.fetch(f"/x?s={session}", 7, host=host)
        learning.fetch("/x", 7, host=host)
    for number in range(40):
        learning.fetch("/", 9, host=f"plain{number}.example")
    return learning


def walked(learned: Learning, limit: int, domain: Domain | None = None) -> tuple[list[RuleItem], int]:
    """All rules, and in how many answers."""
    found, cursor, answers = list[RuleItem](), None, 0
    while True:
        page = list_rules(learned.store, NEVER_SAMPLED, domain, limit, cursor)
        assert len(page.items) == page.count <= limit
        found, cursor, answers = [*found, *page.items], page.next, answers + 1
        if cursor is None:
            return found, answers


def test_pages_of_any_size_hold_all_rules_once(learned: Learning) -> None:
    whole, answers = walked(learned, 1000)
    assert answers == 1
    assert {item.domain for item in whole} == {"test.com", "a.example", "m.example", "z.example"}
    assert any(item.dropped for item in whole)
    for limit in (1, 2, 3, 7, 31):
        assert walked(learned, limit)[0] == whole


def test_the_rules_of_a_domain_are_those_that_its_evidence_gives(learned: Learning) -> None:
    found, _ = walked(learned, 5, TEST_COM)
    expected = list(rules_of_domain(learned.store, b"com.test", NEVER_SAMPLED))
    assert len(expected) > 5
    assert [(item.reach, item.where, item.about) for item in found] == [
        (rule.reach, rule.where, rule.about) for rule in expected
    ]


def test_an_answer_looks_at_a_bounded_number_of_places_and_goes_on_there(
    learned: Learning, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = walked(learned, 1000)
    monkeypatch.setattr(rules, "MOST_PLACES", 3)
    found, answers = walked(learned, 1000)
    assert found == whole
    # Domains without rules count as well: 40 of them are here.
    assert answers > 40 / 3


def test_places_are_named_as_people_write_them(learned: Learning) -> None:
    found = {(item.where, item.place) for item in walked(learned, 1000)[0]}
    assert ("com.test", "test.com") in found
    assert ("com.test/list", "test.com/list") in found


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "Pg", "PgAAAAA", "é"])
def test_a_cursor_of_something_else_is_refused(learned: Learning, cursor: str) -> None:
    if cursor:
        with pytest.raises(UsageError, match="cursor"):
            list_rules(learned.store, NEVER_SAMPLED, None, 5, cursor)
    other = list_rules(learned.store, NEVER_SAMPLED, TEST_COM, 1, None).next
    assert other is not None
    with pytest.raises(UsageError, match="cursor"):
        list_rules(learned.store, NEVER_SAMPLED, None, 5, other)


def test_a_limit_of_nothing_is_refused(learned: Learning) -> None:
    with pytest.raises(UsageError, match="limit 0"):
        list_rules(learned.store, NEVER_SAMPLED, None, 0, None)


def test_a_url_is_reduced_by_what_was_learned_and_by_what_was_set(learned: Learning) -> None:
    page = UrlRules().identify("https://test.com/99?session=77&color=red")
    found = reduce_url(learned.store, [Site(name="test.com")], NEVER_SAMPLED, page)
    assert found.reduced is False or "session" not in found.canonical_url
    page = UrlRules().identify("https://test.com/3?session=77")
    found = reduce_url(learned.store, [Site(name="test.com")], NEVER_SAMPLED, page)
    assert (found.reduced, found.canonical_url) == (True, "https://test.com/3")
    kept = Site(name="test.com", settings=SiteSettings(keep_parameters=("session",)))
    assert not reduce_url(learned.store, [kept], NEVER_SAMPLED, page).reduced

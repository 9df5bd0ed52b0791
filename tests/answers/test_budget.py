"""An answer that may only cost so much is the same answer, or a part of it with the way to the rest, or a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from weft.answers.budget import AnswerLate, Budget, TooMuchWork
from weft.answers.index import Index
from weft.answers.objects import ChangeItem, ChangeListing
from weft.config.sections import IndexSettings
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.memory import MemoryStore

RULES = UrlRules()
ROUNDS = 240


def page(url: str, targets: list[str], at: int, title: str = "") -> LoadedPage:
    return load_page(RULES, RULES.identify(url), at, [RawLink(each, "") for each in targets], Doc(title=title))


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    """Every round changes links, every fortieth the title of a page, too."""
    store = MemoryStore()
    links = LinkIndex(store, IndexSettings())
    for at in range(ROUNDS):
        targets = ["https://hub.com/", f"https://b.com/{at}", f"https://b.com/{at + 1}"]
        links.apply([page("https://a.com/", targets, at, f"title {at // 40}")])
    with Index(store, RULES) as answers:
        yield answers


def walked(index: Index, steps: int, **asked: str) -> Iterator[ChangeListing]:
    """Answer by answer, each with a budget of its own."""
    cursor = None
    for _ in range(2 * ROUNDS):
        answer = index.within(Budget(steps)).changes(cursor=cursor, limit=3, **asked)  # type: ignore[arg-type]
        yield answer
        cursor = answer.next
        if cursor is None:
            return
    raise AssertionError("it goes on for ever")


@pytest.mark.parametrize("of", [None, "a.com", "b.com"])
@pytest.mark.parametrize("kind", [None, "pages", "links"])
def test_changes_that_are_few_among_many_come_in_short_answers(index: Index, of: str | None, kind: str | None) -> None:
    asked = {name: value for name, value in (("of", of), ("kind", kind)) if value}
    whole = index.changes(limit=10_000, **asked).items  # type: ignore[arg-type]
    for steps in (80, 300):
        answers = list(walked(index, steps, **asked))
        assert [item for answer in answers for item in answer.items] == whole


def test_the_way_back_is_bounded_too(index: Index) -> None:
    whole = index.changes(kind="pages", limit=10_000).items
    *_, last = walked(index, 150, kind="pages")
    found: list[ChangeItem] = list(last.items)
    cursor = last.prev
    for _ in count():
        if cursor is None:
            break
        answer = index.within(Budget(150)).changes(kind="pages", limit=3, cursor=cursor)
        found, cursor = answer.items + found, answer.prev
    assert found == whole


def test_one_batch_is_always_read_so_that_everybody_gets_on() -> None:
    store = MemoryStore()
    links = LinkIndex(store, IndexSettings())
    for at in range(3):
        targets = [f"https://b.com/{at}/{number}" for number in range(400)]
        links.apply([page("https://a.com/", targets, at)])
    index = Index(store, RULES)
    answers = list(walked(index, 700, kind="pages"))
    assert [item.change for answer in answers for item in answer.items] == ["page_new"]


def test_without_a_budget_an_answer_is_whole(index: Index) -> None:
    assert index.changes(kind="pages", limit=3).count == 3


def test_pages_that_share_their_links_are_looked_through_once() -> None:
    store = MemoryStore()
    links = LinkIndex(store, IndexSettings())
    menu = [f"https://a.com/menu/{number}" for number in range(200)]
    links.apply([page(f"https://a.com/{number}", [*menu, "https://hub.com/"], 1) for number in range(200)])
    index = Index(store, RULES)
    answer = index.within(Budget(20_000)).links("https://hub.com/", limit=200)
    assert answer == index.links("https://hub.com/", limit=200)
    assert all(item.since for item in answer.items)


def test_pages_with_other_links_each_are_refused_beyond_the_budget() -> None:
    store = MemoryStore()
    links = LinkIndex(store, IndexSettings())
    for number in range(100):
        own = [f"https://a.com/{number}/{other}" for other in range(200)]
        links.apply([page(f"https://a.com/{number}", [*own, "https://hub.com/"], 1)])
    index = Index(store, RULES)
    bounded = index.within(Budget(12_000))
    with pytest.raises(TooMuchWork):
        bounded.links("https://hub.com/", limit=100)
    assert index.within(Budget(12_000)).links("https://hub.com/", limit=20).count == 20


def test_an_answer_that_nobody_waits_for_ends_at_the_next_cell(index: Index) -> None:
    budget = Budget()
    bounded = index.within(budget)
    assert bounded.totals().pages
    budget.end()
    for ask in (bounded.totals, bounded.top, bounded.changes, lambda: bounded.links("https://hub.com/")):
        with pytest.raises(AnswerLate):
            ask()

"""The answers, from a store that was loaded for real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from weft.answers.index import Index
from weft.answers.objects import DomainListing
from weft.config.sections import IndexSettings
from weft.errors import HomeError, NotKnown, UsageError
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.memory import MemoryStore

RULES = UrlRules()
DAY = 86_400_000


def page(url: str, links: list[tuple[str, str]], at: int = DAY, title: str = "") -> LoadedPage:
    return load_page(RULES, RULES.identify(url), at, [RawLink(*link) for link in links], Doc(title=title))


@pytest.fixture
def index() -> Iterator[Index]:
    store = MemoryStore()
    links = LinkIndex(store, IndexSettings())
    links.apply([page("https://a.com/page1", [("https://c.com/", "see C"), ("https://b.com/", "B")], title="One")])
    links.apply([page("http://b.com/", [("http://c.com/page1", ""), ("https://c.com/", "the C")], at=2 * DAY)])
    links.apply([page("https://d.com/", [("https://c.com/", "C")], at=3 * DAY)])
    links.apply([page("https://a.com/page1", [("https://c.com/", "C again")], at=4 * DAY, title="One")])
    with Index(store, RULES) as answers:
        yield answers


def test_totals_count_pages_domains_and_references(index: Index) -> None:
    answer = index.totals()
    assert (answer.seq, answer.pages, answer.domains, answer.references, answer.counting) == (4, 5, 4, 4, "all")
    nothing = Index(MemoryStore(), RULES).totals()
    assert (nothing.pages, nothing.domains, nothing.references) == (0, 0, 0)


def test_top_lists_the_most_referenced_first_with_ties_by_uri(index: Index) -> None:
    answer = index.top()
    found = [(item.uri, item.url, item.references, item.score, item.crawled) for item in answer.items]
    assert found == [
        ("com.c", "https://c.com/", 3, 3, False),
        ("com.c/page1", "http://c.com/page1", 1, 1, False),
        ("com.a/page1", "https://a.com/page1", 0, 1, True),
        ("com.b", "http://b.com/", 0, 1, True),
        ("com.d", "https://d.com/", 0, 1, True),
    ]
    assert (answer.seq, answer.count, answer.total, answer.next, answer.prev) == (4, 5, 5, None, None)


def test_top_of_a_domain_has_the_total_and_takes_any_host_of_it(index: Index) -> None:
    answer = index.top("www.c.com")
    assert [item.uri for item in answer.items] == ["com.c", "com.c/page1"]
    assert isinstance(answer, DomainListing)
    assert (answer.total, answer.domain) == (2, "c.com")
    with pytest.raises(NotKnown, match=r"no pages of x\.com"):
        index.top("x.com")


def test_top_pages_forward_and_backward(index: Index) -> None:
    first = index.top(limit=2)
    second = index.top(limit=2, cursor=first.next)
    third = index.top(limit=2, cursor=second.next)
    assert [len(answer.items) for answer in (first, second, third)] == [2, 2, 1]
    assert third.next is None
    assert index.top(limit=2, cursor=third.prev).items == second.items
    assert index.top(limit=2, cursor=second.prev) == first
    inside = index.top("c.com", limit=1)
    assert [item.uri for item in index.top("c.com", limit=1, cursor=inside.next).items] == ["com.c/page1"]


def test_links_tell_words_and_since_when(index: Index) -> None:
    answer = index.links("c.com")
    assert [(item.uri, item.url, item.anchor, item.since) for item in answer.items] == [
        ("com.a/page1", "https://a.com/page1", "C again", "1970-01-02T00:00:00Z"),
        ("com.b", "http://b.com/", "the C", "1970-01-03T00:00:00Z"),
        ("com.d", "https://d.com/", "C", "1970-01-04T00:00:00Z"),
    ]
    assert (answer.uri, answer.references, answer.total) == ("com.c", 3, 3)


def test_links_out_keep_the_page_order_and_can_be_paged(index: Index) -> None:
    answer = index.links("b.com", out=True, limit=1)
    assert [item.url for item in answer.items] == ["http://c.com/page1"]
    rest = index.links("b.com", out=True, limit=1, cursor=answer.next)
    assert [item.url for item in rest.items] == ["https://c.com/"]
    assert (rest.total, rest.next) == (2, None)
    with pytest.raises(NotKnown, match="never loaded"):
        index.links("c.com", out=True)


def test_page_tells_of_crawled_and_of_merely_known_pages(index: Index) -> None:
    crawled, known = index.page("a.com/page1"), index.page("c.com/page1")
    assert (crawled.state, crawled.title, crawled.outlinkcount, crawled.fetched) == (
        *("page", "One", 1),
        "1970-01-05T00:00:00Z",
    )
    assert (known.state, known.url, known.references, known.fetched) == (
        "not fetched yet",
        "http://c.com/page1",
        1,
        None,
    )


def test_what_is_not_known_is_said(index: Index) -> None:
    for ask in (index.page, index.links):
        with pytest.raises(NotKnown, match=r"https://x\.com/ is not known"):
            ask("x.com")


def test_a_page_that_went_is_told_as_gone() -> None:
    store = MemoryStore()
    LinkIndex(store, IndexSettings()).apply([load_gone(RULES.identify("https://a.com/"), DAY)])
    answer = Index(store, RULES).page("a.com")
    assert (answer.state, answer.crawled, answer.fetched) == ("gone", False, "1970-01-02T00:00:00Z")


def test_domains_by_pages_and_by_references(index: Index) -> None:
    by_pages = index.domains()
    assert [(item.domain, item.pagecount, item.references) for item in by_pages.items] == [
        ("c.com", 2, 4),
        ("a.com", 1, 0),
        ("b.com", 1, 0),
        ("d.com", 1, 0),
    ]
    assert by_pages.total == 4
    assert index.domains("references", limit=1).items[0].domain == "c.com"
    with pytest.raises(UsageError, match="expected pages or references"):
        index.domains("size")


def told(answer: object) -> list[tuple[str, str, str]]:
    return [(item.change, item.source, item.target) for item in answer.items]  # type: ignore[attr-defined]


def test_changes_of_all_of_a_domain_and_of_a_page(index: Index) -> None:
    everything = index.changes(kind="links")
    assert told(everything)[:2] == [("lost", "com.a/page1", "com.b"), ("anchor", "com.a/page1", "com.c")]
    assert len(everything.items) == 7
    lost = everything.items[0]
    assert (lost.source_url, lost.target_url) == ("https://a.com/page1", "http://b.com/")
    assert told(index.changes("b.com", kind="links")) == [
        ("lost", "com.a/page1", "com.b"),
        ("new", "com.a/page1", "com.b"),
    ]
    of_page = index.changes("https://c.com/")
    assert [(item.at, item.change, item.anchor) for item in of_page.items] == [
        ("1970-01-05T00:00:00Z", "anchor", "C again"),
        ("1970-01-04T00:00:00Z", "new", "C"),
        ("1970-01-03T00:00:00Z", "new", "the C"),
        ("1970-01-02T00:00:00Z", "new", "see C"),
    ]


def test_changes_since_a_time(index: Index) -> None:
    assert len(index.changes(since=3 * DAY, kind="links").items) == 3
    assert len(index.changes("https://c.com/", since=3 * DAY).items) == 2
    assert len(index.changes("c.com", since=3 * DAY).items) == 2


@pytest.mark.parametrize("of", [None, "c.com", "https://c.com/"])
def test_changes_can_be_paged(index: Index, of: str | None) -> None:
    everything = index.changes(of).items
    found, cursor = [], None
    while True:
        answer = index.changes(of, limit=2, cursor=cursor)
        found += answer.items
        if answer.next is None:
            break
        cursor = answer.next
    assert found == everything
    before = index.changes(of, limit=1, cursor=answer.prev)
    assert before.items == everything[-len(answer.items) - 1 :][:1]


def test_without_history_nothing_is_kept() -> None:
    store = MemoryStore()
    LinkIndex(store, IndexSettings(history=False)).apply([page("https://a.com/", [("https://b.com/", "")])])
    assert Index(store, RULES).changes().items == []


def test_a_limit_below_one_is_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="limit 0 is out of range"):
        index.top(limit=0)


def test_open_needs_a_home(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="weft init"):
        weft.open(tmp_path)


def test_changes_of_what_is_not_known_are_refused(index: Index) -> None:
    for unknown in ("https://nowhere.example/x", "nowhere.example"):
        with pytest.raises(NotKnown, match=r"nowhere\.example.* is not known"):
            index.changes(unknown)

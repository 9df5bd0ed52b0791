"""One domain at a glance: counts, states, neighbours."""

from __future__ import annotations

import pytest

from weft.answers import domain_neighbours, domain_overview
from weft.answers.index import Index
from weft.config.sections import IndexSettings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.errors import NotKnown, UsageError
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.domain import reversed_domain
from weft.model.page_state import PageState
from weft.model.url import UrlRules
from weft.store.api import Batch
from weft.store.memory import MemoryStore

RULES = UrlRules()


def page(url: str, *targets: str) -> LoadedPage:
    return load_page(RULES, RULES.identify(f"https://{url}"), 1, [RawLink(f"https://{t}", "") for t in targets], Doc())


def index_of(*pages: LoadedPage) -> Index:
    store = MemoryStore()
    LinkIndex(store, IndexSettings()).apply(pages)
    return Index(store, RULES)


def know(index: Index, records: dict[str, LinkRecord]) -> None:
    """As a crawl does that has these links."""
    store = index._view.reader
    assert isinstance(store, MemoryStore)
    links = LinkRound(store, store.last_seq + 1)
    pages = {RULES.identify(url): record for url, record in records.items()}
    places = {(reversed_domain(at.domain).encode(), at.uri.encode()): record for at, record in pages.items()}
    links.read(list(places))
    for place, record in places.items():
        links.put(*place, record)
    store.write(Batch(links.cells()), store.last_seq + 1)


def test_counts_and_neighbours_without_the_domain_itself() -> None:
    index = index_of(
        page("www.a.com/", "a.com/", "b.com/", "b.com/2", "c.com/"),
        page("a.com:8080/x", "www.a.com/", "b.com/"),
        page("b.com/", "a.com/", "www.a.com/", "b.com/2"),
        page("c.com/", "www.a.com/", "a.com/"),
        page("c.com/2", "a.com/"),
        page("a-b.com/", "a.com/"),
    )
    answer = index.domain("www.a.com")
    assert (answer.domain, answer.pagecount, answer.references, answer.crawled) == ("a.com", 3, 8, 2)
    assert answer.referring == [("c.com", 3), ("b.com", 2), ("a-b.com", 1)]
    assert answer.referred == [("b.com", 3), ("c.com", 1)]
    assert not answer.sampled
    assert index.domain("a.com", limit=1).referring == [("c.com", 3)]


def test_of_a_domain_that_no_crawl_knows_its_pages_are_looked_at() -> None:
    answer = index_of(page("a.com/", "a.com/2"), load_gone(RULES.identify("https://a.com/2"), 2)).domain("a.com")
    assert answer.statuses == {PageState.PAGE: 1, PageState.GONE: 1}
    assert (answer.statuses_of, answer.statuses_complete, answer.crawled) == (2, True, 1)


def test_the_states_of_all_links_that_a_crawl_knows() -> None:
    index = index_of(page("a.com/", "a.com/2", "a.com/3", "a.com/4"), page("a.com/5"))
    doc = Doc(status=200, type="application/pdf")
    LinkIndex(index._view.reader, IndexSettings()).apply(  # type: ignore[arg-type]
        [load_gone(RULES.identify("https://a.com/4"), 2, doc)]
    )
    know(
        index,
        {
            "https://a.com/": LinkRecord(url="", phase=LinkPhase.DUE, fetched=1, status=200),
            "https://a.com/2": LinkRecord(url=""),
            "https://a.com/3": LinkRecord(url="", phase=LinkPhase.HIDDEN, reason="depth: 9"),
            "https://a.com/4": LinkRecord(url="", phase=LinkPhase.DUE, fetched=1, status=200),
            "https://a.com/5": LinkRecord(url="", phase=LinkPhase.DUE, fetched=1, failures=2, error="timeout"),
            "https://a.com/found-in-a-sitemap": LinkRecord(url=""),
        },
    )
    answer = index.domain("a.com")
    assert answer.statuses == {
        PageState.NOT_FETCHED: 2,
        PageState.PAGE: 1,
        PageState.REFUSED: 1,
        PageState.FILE: 1,
        PageState.FAILING: 1,
    }
    assert (answer.statuses_of, answer.pagecount, answer.crawled) == (6, 5, 2)


def test_what_is_too_much_to_look_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_overview, "MOST_STATES", 2)
    monkeypatch.setattr(domain_neighbours, "LINKS", 2)
    index = index_of(
        page("a.com/", "a.com/2", "a.com/3", "c.com/", "d.com/"),
        page("b.com/1", "a.com/"),
        page("b.com/2", "a.com/"),
        page("d.com/", "a.com/"),
    )
    answer = index.domain("a.com")
    assert (answer.statuses_of, answer.statuses_complete, answer.crawled) == (2, False, None)
    assert (answer.referring, answer.referred, answer.sampled) == ([("b.com", 2)], [], True)
    assert not index.domain("d.com").sampled


def test_links_from_its_own_pages_do_not_use_up_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_neighbours, "LINKS", 5)
    own = [page(f"www.a.com/{number}", "www.a.com/") for number in range(50)]
    index = index_of(*own, page("www.a.com:81/", "www.a.com/"), page("b.com/", "www.a.com/"))
    assert index.domain("a.com").referring == [("b.com", 1)]


def test_sites_below_a_public_suffix_are_neighbours_of_it() -> None:
    index = index_of(page("one.github.io/", "github.io/"), page("github.io/2", "github.io/"))
    assert index.domain("github.io").referring == [("one.github.io", 1)]


def test_a_domain_that_is_not_known_and_a_bad_limit_are_refused() -> None:
    index = index_of(page("a.com/"))
    with pytest.raises(NotKnown, match=r"no pages of x\.com are known"):
        index.domain("x.com")
    with pytest.raises(UsageError, match="limit 0 is out of range"):
        index.domain("a.com", limit=0)

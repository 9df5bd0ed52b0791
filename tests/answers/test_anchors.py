"""With what words a page is referenced."""

from __future__ import annotations

import pytest

from weft.answers import anchors
from weft.answers.index import Index
from weft.config.sections import IndexSettings
from weft.errors import NotKnown, UsageError
from weft.linkindex.loaded import RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.memory import MemoryStore

RULES = UrlRules()


def index_of(*words: str) -> Index:
    """A page for each of the words, which links to a.com with them."""
    store = MemoryStore()
    LinkIndex(store, IndexSettings()).apply(
        load_page(RULES, RULES.identify(f"https://b.com/{n:03}"), 1, [RawLink("https://a.com/", text)], Doc())
        for n, text in enumerate(words)
    )
    return Index(store, RULES)


def test_the_most_frequent_words_come_first_and_case_does_not_matter() -> None:
    answer = index_of("home", "Home", "Home", "About A", "", "STRASSE", "Straße", "straße", "Straße").anchors("a.com")
    assert [(item.anchor, item.count) for item in answer.items] == [
        ("Straße", 4),
        ("Home", 3),
        ("", 1),
        ("About A", 1),
    ]
    assert (answer.uri, answer.url, answer.references) == ("com.a", "https://a.com/", 9)
    assert (answer.distinct, answer.looked_at, answer.complete) == (4, 9, True)


def test_fewer_are_shown_than_counted() -> None:
    answer = index_of("a", "a", "b").anchors("a.com", limit=1)
    assert [(item.anchor, item.count) for item in answer.items] == [("a", 2)]
    assert (answer.distinct, answer.looked_at, answer.complete) == (2, 3, True)


def test_only_the_first_references_of_many_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors, "MOST_INLINKS", 3)
    assert index_of("a", "a", "a").anchors("a.com").complete
    answer = index_of("a", "a", "b", "b").anchors("a.com")
    assert [(item.anchor, item.count) for item in answer.items] == [("a", 2), ("b", 1)]
    assert (answer.looked_at, answer.references, answer.complete) == (3, 4, False)


def test_a_page_without_references_has_none_and_an_unknown_one_is_refused() -> None:
    index = index_of("a")
    answer = index.anchors("b.com/000")
    assert (answer.items, answer.looked_at, answer.complete) == ([], 0, True)
    with pytest.raises(NotKnown, match=r"https://x\.com/ is not known"):
        index.anchors("x.com")
    with pytest.raises(UsageError, match="limit 0 is out of range"):
        index.anchors("a.com", limit=0)

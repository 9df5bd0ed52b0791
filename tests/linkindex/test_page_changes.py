"""What the history tells of pages themselves."""

from __future__ import annotations

import pytest

from weft.answers.index import Index
from weft.config.sections import IndexSettings
from weft.errors import UsageError
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.memory import MemoryStore

RULES = UrlRules()
URL = "https://a.com/x"


def page(at: int, title: str = "T", text: str = "words", *links: str) -> LoadedPage:
    return load_page(RULES, RULES.identify(URL), at, [RawLink(link) for link in links], Doc(title=title, text=text))


def gone(at: int, moved_to: str = "") -> LoadedPage:
    return load_gone(RULES.identify(URL), at, moved_to=moved_to)


def told(*versions: LoadedPage) -> list[tuple[str, str | None, str | None]]:
    """The changes that these give one after the other, the oldest first."""
    store = MemoryStore()
    index = LinkIndex(store, IndexSettings())
    for version in versions:
        index.apply([version])
    items = Index(store, RULES).changes(kind="pages").items
    assert {(item.kind, item.source, item.target, item.anchor) for item in items} <= {("pages", "", "com.a/x", "")}
    return [(item.change, item.title, item.moved_to) for item in reversed(items)]


NEW = ("page_new", "T", None)


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        (page(2), []),
        (page(2, "T", "words", "https://b.com/"), []),
        (page(2, "Other"), [("page_title", "Other", None)]),
        (page(2, "T", "other words"), [("page_text", None, None)]),
        (page(2, "", ""), [("page_text", None, None), ("page_title", "", None)]),
        (gone(2), [("page_gone", None, None)]),
        (gone(2, "com.b/y"), [("page_moved", None, "https://b.com/y")]),
        (page(0, "Older"), []),
        (gone(0), []),
    ],
)
def test_a_change_of_a_page_is_told(after: LoadedPage, changes: list[tuple[str, str | None, str | None]]) -> None:
    assert told(page(1), after) == [NEW, *changes]


def test_a_page_that_comes_back_is_new_and_one_that_was_never_there_is_not_gone() -> None:
    assert told(gone(1), gone(2, "com.b"), page(3), gone(4), gone(5), page(6)) == [
        NEW,
        ("page_gone", None, None),
        NEW,
    ]


def test_changes_of_a_page_stand_beside_those_of_links_to_it() -> None:
    store = MemoryStore()
    index, answers = LinkIndex(store, IndexSettings()), Index(store, RULES)
    index.apply([page(1, "T", "", "https://b.com/")])
    index.apply([load_page(RULES, RULES.identify("https://b.com/"), 2, [RawLink(URL, "see")], Doc(title="B"))])
    index.apply([gone(3, "com.b")])
    everything = [(item.change, item.source, item.target) for item in answers.changes().items]
    assert everything == [
        ("page_moved", "", "com.a/x"),
        ("lost", "com.a/x", "com.b"),
        ("page_new", "", "com.b"),
        ("new", "com.b", "com.a/x"),
        ("page_new", "", "com.a/x"),
        ("new", "com.a/x", "com.b"),
    ]
    for of, domain in (("a.com", "com.a/x"), (URL, "com.a/x"), ("b.com", "com.b"), ("https://b.com/", "com.b")):
        own = [(item.change, item.source, item.target) for item in answers.changes(of).items]
        assert own == [change for change in everything if change[2] == domain]


def test_an_unknown_kind_of_changes_is_refused() -> None:
    with pytest.raises(UsageError, match="expected links or pages"):
        Index(MemoryStore(), RULES).changes(kind="titles")


def test_changes_of_all_bases_can_be_paged_both_ways() -> None:
    store = MemoryStore()
    index, answers = LinkIndex(store, IndexSettings()), Index(store, RULES)
    for at in range(1, 4):
        names = (RULES.identify(f"https://s{number}.org/{at}") for number in range(7))
        index.apply([load_page(RULES, name, at, [RawLink("https://c.com/")], Doc()) for name in names])
    for kind in (None, "links", "pages"):
        everything = answers.changes(kind=kind, limit=100).items
        assert len(everything) == (42 if kind is None else 21)
        forwards, back, cursor = [], [], None
        while True:
            answer = answers.changes(kind=kind, limit=4, cursor=cursor)
            forwards += answer.items
            if answer.next is None:
                break
            cursor = answer.next
        assert forwards == everything
        back = answer.items
        while answer.prev:
            answer = answers.changes(kind=kind, limit=4, cursor=answer.prev)
            back = answer.items + back
        assert back == everything

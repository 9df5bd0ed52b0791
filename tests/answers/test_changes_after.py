"""Whoever follows the changes by marks gets each of them once, in order, while new ones come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.answers.index import Index
from weft.answers.objects import ChangeItem
from weft.config import Settings
from weft.config.sections import IndexSettings
from weft.errors import UsageError
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.memory import MemoryStore
from weft.store.open import open_reader, open_store

RULES = UrlRules()
SITES = "abcdefgh"


def page(name: str, targets: str, at: int) -> LoadedPage:
    links = [RawLink(f"https://{target}.com/", "") for target in targets]
    return load_page(RULES, RULES.identify(f"https://{name}.com/"), at, links, Doc(title=f"{name} {at}"))


def all_of(index: Index) -> list[ChangeItem]:
    """The whole history, oldest first."""
    return index.changes(limit=10_000).items[::-1]


def followed(index: Index, mark: str | None, limit: int = 100) -> Iterator[tuple[list[ChangeItem], str]]:
    while True:
        answer = index.changes_after(mark, limit=limit)
        assert len(answer.items) == len(answer.marks) <= limit
        mark = answer.mark
        yield answer.items, mark
        if not answer.more:
            return


@st.composite
def rounds(draw: st.DrawFn) -> list[tuple[list[tuple[str, str]], int]]:
    """What is loaded round by round, and how many items are asked for after each; 0: nobody asks."""
    one = st.tuples(st.sampled_from(SITES), st.text(SITES, max_size=6))
    return draw(st.lists(st.tuples(st.lists(one, max_size=4), st.integers(0, 5)), max_size=8))


@given(rounds=rounds())
def test_nothing_is_missed_or_told_twice_while_changes_come(rounds: list[tuple[list[tuple[str, str]], int]]) -> None:
    store = MemoryStore()
    links, index = LinkIndex(store, IndexSettings()), Index(store, RULES)
    first = index.changes_after(None)
    assert (first.items, first.more) == ([], False)
    mark = first.mark
    found: list[ChangeItem] = []
    for at, (pages, limit) in enumerate(rounds, start=1):
        links.apply([page(name, targets, at) for name, targets in dict(pages).items()])
        if limit:  # one answer only: the next changes come while a batch is told in part
            answer = index.changes_after(mark, limit=limit)
            found, mark = found + answer.items, answer.mark
    for items, _ in followed(index, mark, limit=3):
        found += items
    assert found == all_of(index)


@given(rounds=rounds(), data=st.data())
def test_every_item_has_a_mark_to_go_on_from(
    rounds: list[tuple[list[tuple[str, str]], int]], data: st.DataObject
) -> None:
    store = MemoryStore()
    links, index = LinkIndex(store, IndexSettings()), Index(store, RULES)
    begin = index.changes_after(None).mark
    for at, (pages, _) in enumerate(rounds, start=1):
        links.apply([page(name, targets, at) for name, targets in dict(pages).items()])
    answer = index.changes_after(begin, limit=10_000)
    assert answer.items == all_of(index)
    if answer.items:
        seen = data.draw(st.integers(0, len(answer.items) - 1))
        assert index.changes_after(answer.marks[seen], limit=10_000).items == answer.items[seen + 1 :]


def test_a_mark_of_now_leaves_out_what_was_there() -> None:
    store = MemoryStore()
    links, index = LinkIndex(store, IndexSettings()), Index(store, RULES)
    links.apply([page("a", "bc", 1)])
    mark = index.changes_after(None).mark
    assert index.changes_after(mark).items == []
    links.apply([page("a", "b", 2)])
    told = [(item.change, item.source_url, item.target_url) for item in index.changes_after(mark).items]
    assert ("lost", "https://a.com/", "https://c.com/") in told
    assert "new" not in [change for change, _, _ in told]


def test_batches_without_changes_move_the_mark_on() -> None:
    store = MemoryStore()
    links, index = LinkIndex(store, IndexSettings(history=False)), Index(store, RULES)
    mark = index.changes_after(None).mark
    links.apply([page("a", "b", 1)])
    answer = index.changes_after(mark)
    assert (answer.items, answer.more) == ([], False)
    assert answer.mark != mark


def test_a_view_beside_the_writer_follows_as_it_is_refreshed(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", Settings()) as store:
        links = LinkIndex(store, IndexSettings())
        links.apply([page("a", "bc", 1)])
        with Index(open_reader(tmp_path / "store", Settings()), RULES) as index:
            mark = index.changes_after(None).mark
            links.apply([page("b", "cd", 2)])
            assert index.changes_after(mark).items == [], "the view holds still"
            index.refresh()
            steps = list(followed(index, mark, limit=2))
            assert [item for items, _ in steps for item in items] == all_of(index)[-3:]
            older = Index(open_reader(tmp_path / "store", Settings()), RULES)
            links.apply([page("c", "d", 3)])
            index.refresh()
            ahead = index.changes_after(steps[-1][1]).mark
            with older:
                late = older.changes_after(ahead)
            assert (late.items, late.mark) == ([], ahead), "a view that is behind never leads back"


@pytest.mark.parametrize("mark", ["", "x", "1.", ".1", "-1", "1.2.3", "١", "9" * 30])
def test_what_is_no_mark_is_refused(mark: str) -> None:
    with pytest.raises(UsageError, match="is not a mark"):
        Index(MemoryStore(), RULES).changes_after(mark)

"""A listing of changes costs what it shows, whatever else happened; what was written before stays readable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.answers import history
from weft.answers.index import Index
from weft.answers.objects import ChangeItem, Listing
from weft.clock import ManualClock
from weft.config import Settings
from weft.config.sections import IndexSettings
from weft.linkindex.changes import HistoryCells, history_cells
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.linkindex.updates import LinkChange
from weft.model.url import UrlRules
from weft.store.api import Cell
from weft.store.encoding import END
from weft.store.memory import MemoryStore
from weft.store.open import open_store
from weft.store.tables import Table

RULES = UrlRules()
DAY = 86_400_000


class CountingStore(MemoryStore):
    """Counts the blocks that are read, by their family."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: Counter[bytes] = Counter()

    def scan(self, table: Table, *where: Any, **how: Any) -> Iterator[Cell]:
        for cell in super().scan(table, *where, **how):
            if table is Table.CHANGES:
                self.blocks[cell.family] += 1
            yield cell


def mixed_cells(links: list[LinkChange], pages: list[LinkChange], seq: int, recorded: int) -> HistoryCells:
    """As all changes of a batch were written when links and pages had no blocks of their own."""
    cells, size = history_cells(sorted([*links, *pages], key=itemgetter(0)), [], seq, recorded)
    mixed = {key.replace(END + b"links" + END, END + b"block" + END): value for key, value in cells.items()}
    return HistoryCells(mixed, size)


@contextmanager
def written_before() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.linkindex.pipeline.history_cells", mixed_cells)
        yield


@contextmanager
def looking_at(most: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "MOST_LOOKED_AT", most)
        yield


def page(name: str, at: int, links: list[str], title: str = "") -> LoadedPage:
    found = [RawLink(f"https://{link}", "") for link in links]
    return load_page(RULES, RULES.identify(f"https://{name}"), at, found, Doc(title=title))


@pytest.mark.parametrize("of", [None, "c.com", "https://c.com/"])
def test_who_asks_for_changes_of_pages_reads_none_of_links_and_the_other_way_round(of: str | None) -> None:
    store = CountingStore()
    links = LinkIndex(store, IndexSettings())
    for number in range(30):
        links.apply([page(f"a.com/{number}", 1000 + number, ["c.com/"])])
    links.apply([page("c.com/", 2000, [], "new")])
    for number in range(30):
        links.apply([page("c.com/", 3000 + number, [], f"title {number}")])
    index = Index(store, RULES)
    for kind, own in (("pages", b"pages"), ("links", b"links")):
        store.blocks.clear()
        answer = index.changes(of, kind=kind, limit=3)
        assert len(answer.items) == 3
        assert {item.kind for item in answer.items} == {kind}
        assert not answer.cut_short
        of_blocks = {family: count for family, count in store.blocks.items() if family != b"baseline"}
        assert of_blocks.keys() == {own}
        assert of_blocks[own] <= 8, "what is shown, and what tells whether there is more"


def test_old_pages_that_were_loaded_today_cost_a_bounded_answer_and_lead_on() -> None:
    store, clock = CountingStore(), ManualClock(1000 * DAY)
    links, index = LinkIndex(store, IndexSettings(), clock), Index(store, RULES)
    links.apply([page("b.com/", clock.now(), ["c.com/"])])
    for number in range(100):
        links.apply([page(f"a.com/{number}", 5 + number, ["c.com/"])])
    with looking_at(10 * history._BATCH):
        for of in (None, "c.com", "https://c.com/"):
            found, cursor, answers = list[ChangeItem](), None, 0
            while True:
                store.blocks.clear()
                answer = index.changes(of, since=clock.now() - DAY, kind="links", limit=5, cursor=cursor)
                assert store.blocks[b"links"] <= 30, "whatever else was loaded"
                found += answer.items
                answers += 1
                cursor = answer.next
                if cursor is None:
                    break
                assert answer.cut_short
                assert answer.items == [], "nothing of those is young enough"
            assert [item.source for item in found] == ["com.b"]
            assert answers > 5
            assert not answer.cut_short


def walked(ask: Any, everything: list[ChangeItem]) -> int:
    """Leads to everything once, both ways; returns how many answers ended early."""
    answer, cut_short = ask(None), 0
    forward = list(answer.items)
    while answer.next is not None:
        cut_short += answer.cut_short
        answer = ask(answer.next)
        forward += answer.items
        assert len(forward) <= len(everything)
    assert forward == everything
    assert not answer.cut_short
    backward = list(answer.items)
    steps = 0
    while answer.prev is not None:
        answer = ask(answer.prev)
        backward = answer.items + backward
        steps += 1
        assert steps < 1000
    assert backward == everything
    return cut_short


NAMES = ("a.com/", "a.com/1", "b.com/", "b.com/1", "c.com/")
loads = st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=4), st.sampled_from([1, 5_000]))
rounds = st.lists(st.lists(loads, max_size=3, unique_by=itemgetter(0)), max_size=8)


@given(rounds=rounds, before=st.integers(0, 8), limit=st.integers(1, 4), most=st.integers(1, 200))
def test_every_filter_leads_through_everything_in_bounded_answers_also_in_an_old_home(
    rounds: list[list[tuple[str, list[str], int]]], before: int, limit: int, most: int
) -> None:
    store, clock = MemoryStore(), ManualClock(0)
    links, index = LinkIndex(store, IndexSettings(), clock), Index(store, RULES)
    for number, loaded in enumerate([[("c.com/", ["a.com/"], 1)], *rounds]):
        clock.advance(1)
        pages = [page(name, at + number, targets, f"{number}") for name, targets, at in loaded]
        if number < before:
            with written_before():
                links.apply(pages)
        else:
            links.apply(pages)
    for of in (None, "c.com", "https://c.com/", "https://a.com/"):
        for kind in (None, "links", "pages"):
            for since in (None, 5_000):

                def ask(cursor: str | None) -> Listing:
                    return index.changes(of, since=since, kind=kind, limit=limit, cursor=cursor)  # noqa: B023

                everything = index.changes(of, since=since, kind=kind, limit=1000)
                assert not everything.cut_short
                with looking_at(most):
                    walked(ask, everything.items)


def test_what_was_written_before_is_read_in_one_order_with_what_came_since(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", Settings()) as store:
        clock = ManualClock(0)
        links, index = LinkIndex(store, IndexSettings(keep_days=10), clock), Index(store, RULES)
        with written_before():
            links.apply([page("c.com/", 1, ["a.com/"], "one"), page("b.com/", 2, ["c.com/"])])
            links.apply([page("c.com/", 3, ["a.com/"], "two")])
        mark = index.changes_after("0").mark
        links.apply([page("c.com/", 4, ["a.com/", "b.com/"], "three"), page("d.com/", 5, ["c.com/"])])
        assert index.changes_after("0", limit=100).items[::-1] == index.changes(limit=100).items
        assert len(index.changes_after(mark).items) == 4
        titles = [item.title for item in index.changes("https://c.com/", kind="pages").items]
        assert titles == ["three", "two", "one"]
        assert [item.source for item in index.changes("c.com", kind="links").items] == ["com.d", "com.b"]
        assert index.reference_history("https://c.com/").before == 0
        clock.advance(11 * 86_400)
        for number in range(64 * 4):
            links.apply([page("a.com/", 10 + number, [], f"{number}")])
        families = {cell.family for cell in store.scan_rows(Table.CHANGES)}
        assert families == {b"pages"}, "old blocks expire like new ones"

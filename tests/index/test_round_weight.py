"""What is loaded at once is bounded by its weight, also in an import."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.random_webs import RULES
from weft.config import Settings
from weft.config.sections import IndexSettings
from weft.index import importer
from weft.index.importer import Importer, ImportWatcher
from weft.index.round_weight import ROUND_WEIGHT, light_rounds, page_weight
from weft.intake.import_source import expand
from weft.intake.page_reader import PageReader
from weft.intake.parser_pool import parser_pool
from weft.linkindex.digest import digest
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.store.memory import MemoryStore


def page(number: int, links: int, length: int) -> LoadedPage:
    targets = [RawLink(f"https://b.com/{n}".ljust(length, "x")) for n in range(links)]
    return load_page(RULES, RULES.identify(f"https://a.com/{number}"), 1, targets, Doc())


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(20, 200)), max_size=20), st.integers(1, 50_000))
def test_parts_are_in_order_and_no_heavier_than_allowed(shapes: list[tuple[int, int]], most: int) -> None:
    pages = [page(number, *shape) for number, shape in enumerate(shapes)]
    parts = list(light_rounds(pages, most))
    assert [page for part in parts for page in part] == pages
    assert all(len(part) <= 1 or sum(map(page_weight, part)) <= most for part in parts)


def test_the_heaviest_page_that_is_not_cut_is_about_a_round() -> None:
    assert page_weight(page(1, 6000, 900)) < ROUND_WEIGHT
    assert page_weight(page(1, 60_000, 30)) < 3 * ROUND_WEIGHT


def test_an_import_in_light_rounds_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'{{"url": "https://a.com/{n}", "links": ["/{n + 1}", "https://b.com/"]}}' for n in range(30)]
    (tmp_path / "pages.jsonl").write_text("\n".join(lines))

    def imported() -> tuple[str, int, int]:
        store, settings = MemoryStore(), Settings()
        with parser_pool(settings, RULES) as parsers:
            reader = PageReader(parsers, settings.limits)
            loading = Importer(LinkIndex(store, IndexSettings()), store, reader, 1000, 1)
            (source,) = expand([str(tmp_path / "pages.jsonl")])
            loading.load(source, strict=False, most=None, watcher=ImportWatcher())
        assert (loading.report.pages, loading.report.changed) == (30, 30)
        return digest(store), loading.report.links, store.last_seq

    whole = imported()
    monkeypatch.setattr(importer, "light_rounds", partial(light_rounds, most=1))
    parts = imported()
    assert (parts[:2], parts[2]) == (whole[:2], 30)

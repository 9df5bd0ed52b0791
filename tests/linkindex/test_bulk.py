"""The bulk build: the same index as page by page, made in one step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.random_webs import RULES, histories
from support.small_webs import SAMPLE, page
from weft.clock import ManualClock
from weft.config.sections import IndexSettings
from weft.errors import UsageError
from weft.linkindex.bulk import BulkBuild, is_empty
from weft.linkindex.changes import HistoryBaseline, baseline
from weft.linkindex.digest import digest
from weft.linkindex.inlinks import InlinkSort
from weft.linkindex.loaded import LoadedPage, RawLink, load_page, load_seen_again
from weft.linkindex.pipeline import LinkIndex, counted
from weft.linkindex.records import Doc
from weft.linkindex.verify import verify
from weft.store.api import Cell, Reader
from weft.store.encoding import cell_key
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksReader, RocksStore
from weft.store.tables import Table


def cells_of(store: Reader) -> dict[tuple[bytes, bytes, bytes, bytes], bytes]:
    """Everything but history, feed and the store's own notes, which tell how the index came about."""
    kept = [table for table in Table if table not in (Table.CHANGES, Table.FEED, Table.META)]
    return {(table.byte, *cell[:3]): cell.value for table in kept for cell in store.scan_rows(table)}


def page_by_page(history: list[LoadedPage], settings: IndexSettings) -> MemoryStore:
    store = MemoryStore()
    index = LinkIndex(store, settings, ManualClock(5))
    for each in history:
        index.apply([each])
    return store


@given(history=histories, count=st.sampled_from(["all", "external"]), memory=st.sampled_from([1, 1 << 12, 1 << 20]))
def test_any_history_gives_every_cell_that_it_gives_page_by_page(
    tmp_path_factory: pytest.TempPathFactory, history: list[LoadedPage], count: str, memory: int
) -> None:
    place = tmp_path_factory.mktemp("bulk")
    settings = IndexSettings(count=count)
    with RocksStore(place / "store") as store:
        with BulkBuild(store, settings, place, memory) as build:
            build.add(history[:5])
            build.add(history[5:])
            build.finish({}, now=5)
        assert cells_of(store) == cells_of(page_by_page(history, settings))
        assert digest(store) == digest(page_by_page(history, settings))
        assert verify(store, count, place).differences == 0


@st.composite
def confirmed_histories(draw: st.DrawFn) -> list[LoadedPage]:
    """Histories in which pages are also seen again."""
    history = draw(histories)
    again = st.builds(
        load_seen_again,
        uri=st.sampled_from([page.uri for page in history] or [b"com.a"]),
        domain=st.just(b"com.a"),
        at=st.integers(0, 12),
        since=st.integers(0, 12),
    )
    return draw(st.permutations([*history, *draw(st.lists(again, max_size=6))]))


@given(history=confirmed_histories(), rounds=st.integers(1, 8))
def test_pages_seen_again_give_the_same_in_rounds_of_any_size_and_in_bulk(
    tmp_path_factory: pytest.TempPathFactory, history: list[LoadedPage], rounds: int
) -> None:
    place, settings = tmp_path_factory.mktemp("bulk"), IndexSettings()
    one_by_one = cells_of(page_by_page(history, settings))
    in_rounds = MemoryStore()
    index = LinkIndex(in_rounds, settings, ManualClock(5))
    for at in range(0, len(history), rounds):
        index.apply(history[at : at + rounds])
    assert shape(cells_of(in_rounds)) == shape(one_by_one)
    with RocksStore(place / "store") as store:
        with BulkBuild(store, settings, place) as build:
            build.add(history)
            build.finish({}, now=5)
        assert cells_of(store) == one_by_one


def shape(cells: dict[tuple[bytes, bytes, bytes, bytes], bytes]) -> dict[tuple[bytes, bytes, bytes, bytes], bytes]:
    """Without the times since when links and texts are there: of versions in one round only the newest is seen."""
    return {key: value for key, value in cells.items() if key[3] not in (b"since", b"changed")}


def test_the_index_goes_on_page_by_page_afterwards(tmp_path: Path) -> None:
    more = page("http://b.com", ("http://e.com", "e"))
    later = load_page(RULES, RULES.identify("http://b.com"), 9, [RawLink("http://e.com", "e")], Doc())
    with RocksStore(tmp_path / "store") as store:
        with BulkBuild(store, IndexSettings(), tmp_path) as build:
            build.add(SAMPLE)
            assert build.finish({}, now=5)[1:] == (3, 5)
        assert counted(store) == "all"
        index = LinkIndex(store, IndexSettings())
        assert index.apply([more]).ignored == 1
        index.apply([later])
        assert verify(store, "all", tmp_path).differences == 0
        assert cells_of(store) == cells_of(page_by_page([*SAMPLE, more, later], IndexSettings()))


def test_history_begins_with_one_entry_for_all(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store") as store:
        with BulkBuild(store, IndexSettings(), tmp_path) as build:
            build.add(SAMPLE)
            build.finish({}, now=5)
        assert baseline(store) == HistoryBaseline(at=5, references=5, pages=3)
        assert len(list(store.scan_rows(Table.CHANGES))) == 1


def test_without_history_there_is_no_entry(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store") as store:
        with BulkBuild(store, IndexSettings(history=False), tmp_path) as build:
            build.add(SAMPLE)
            build.finish({}, now=5)
        assert baseline(store) is None


def test_an_index_with_pages_is_refused(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store") as store:
        assert is_empty(store)
        LinkIndex(store, IndexSettings()).apply(SAMPLE[:1])
        assert not is_empty(store)
        with pytest.raises(UsageError, match="needs an empty index"):
            BulkBuild(store, IndexSettings(), tmp_path)


def test_notes_are_written_in_the_same_step_and_a_reader_sees_all_or_nothing(tmp_path: Path) -> None:
    note = cell_key(Table.META.byte, b"x", b"y", b"z")
    with RocksStore(tmp_path / "store") as store, BulkBuild(store, IndexSettings(), tmp_path) as build:
        build.add(SAMPLE)
        with RocksReader(tmp_path / "store") as reader:
            built = build.finish({note: b"value"}, now=5)
            assert cells_of(reader) == {}
            reader.refresh()
            assert reader.last_seq == built.seq == 1
            assert len(cells_of(reader)) > 50
            assert Cell(b"x", b"y", b"z", 1, b"value") in list(reader.scan_rows(Table.META))


BUILDING = """
import sys
from pathlib import Path
from support.small_webs import SAMPLE
from weft import failpoints
from weft.config.sections import IndexSettings
from weft.linkindex.bulk import BulkBuild
from weft.store.rocksdb import RocksStore
failpoints.arm(sys.argv[2])
place = Path(sys.argv[1])
build = BulkBuild(RocksStore(place / "store"), IndexSettings(), place)
build.add(SAMPLE)
build.finish({}, now=5)
"""


@pytest.mark.parametrize(("point", "is_built"), [("before", False), ("after", True)])
def test_a_kill_leaves_the_store_empty_or_whole(tmp_path: Path, point: str, is_built: bool) -> None:
    command = [sys.executable, "-c", BUILDING, str(tmp_path), f"store.ingest.{point}:1:kill"]
    assert subprocess.run(command, check=False).returncode == -9
    with RocksStore(tmp_path / "store") as store:
        assert is_empty(store) != is_built
        if not is_built:
            with BulkBuild(store, IndexSettings(), tmp_path) as build:
                build.add(SAMPLE)
                build.finish({}, now=5)
        assert verify(store, "all", tmp_path).differences == 0
        assert cells_of(store) == cells_of(page_by_page(list(SAMPLE), IndexSettings()))


@given(
    pages=st.lists(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=9, unique_by=lambda link: link[0])),
    memory=st.sampled_from([1, 2000, 1 << 20]),
)
def test_references_come_back_by_target_and_source(
    tmp_path_factory: pytest.TempPathFactory, pages: list[list[tuple[int, bool]]], memory: int
) -> None:
    expected: dict[bytes, list[bytes]] = {}
    plain: dict[bytes, int] = {}
    with InlinkSort(tmp_path_factory.mktemp("inlinks"), memory) as references:
        for number, links in enumerate(pages):
            source = b"p%05d" % number
            targets = [b"t%d" % target for target, _ in links]
            references.add(source, targets, [b"%b>%b" % (source, t) for t in targets], [http for _, http in links])
            expected.setdefault(source, [])
            for target, (_, says_http) in zip(targets, links, strict=True):
                expected.setdefault(target, []).append(source)
                plain[target] = plain.get(target, 0) + says_http
        for _ in range(2):
            pieces = list(references)
            assert [piece.uri for piece in pieces] == sorted(piece.uri for piece in pieces)
            for uri, sources in expected.items():
                found = [piece for piece in pieces if piece.uri == uri]
                assert [s for piece in found for s in piece.sources] == sources
                assert [a for piece in found for a in piece.anchors] == [b"%b>%b" % (s, uri) for s in sources]
                assert sum(piece.plain for piece in found) == plain.get(uri, 0)
                assert sum(piece.is_page for piece in found) == uri.startswith(b"p")
                assert sum(piece.references for piece in found) == len(sources)
            assert {piece.uri for piece in pieces} == set(expected)
            counts = [(piece.uri, piece.references, piece.plain, piece.is_page) for piece in references.counts()]
            assert counts == [piece[:4] for piece in pieces]

"""The batch program: every derived cell, from the pages alone."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import million_links
from support.small_webs import SAMPLE, naive_cells, page, put_pages, webs
from weft.linkindex import keys
from weft.linkindex.batch import PagesMoved, PageUnreadable, expected_cells
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.records import Outlink, PageRecord, encode_page
from weft.linkindex.verify import readable_key
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table

SAMPLE_CELLS = """\
domains p:2:com.c = 2 4
domains p:1:com.a = 1 0
domains p:1:com.b = 1 1
domains p:1:com.d = 1 0
domains r:4:com.c = 2 4
domains r:1:com.b = 1 1
domains r:0:com.a = 1 0
domains r:0:com.d = 1 0
fluo dm:04:com.a info = 1 0
fluo dm:0b:com.d info = 1 0
fluo dm:28:com.c info = 2 4
fluo dm:3e:com.b info = 1 1
fluo tm:04 info = 1 1 0
fluo tm:0b info = 1 1 0
fluo tm:28 info = 1 2 4
fluo tm:3e info = 1 1 1
fluo um:04:com.a/page1 info = 0 0 1
fluo um:0b:com.d info = 0 0 1
fluo um:28:com.c info = 3 2 0
fluo um:28:com.c/page1 info = 1 1 0
fluo um:3e:com.b info = 1 1 1
query d:com.a domain:pagecount = 1
query d:com.a rank:0:com.a/page1 = 0
query d:com.b domain:pagecount = 1
query d:com.b rank:1:com.b = 1
query d:com.c domain:pagecount = 2
query d:com.c rank:3:com.c = 3
query d:com.c rank:1:com.c/page1 = 1
query d:com.d domain:pagecount = 1
query d:com.d rank:0:com.d = 0
query p:com.a/page1 page:cur = CUR
query p:com.a/page1 page:incount = 0
query p:com.a/page1 page:score = 1
query p:com.b inlinks:com.a/page1 = b
query p:com.b page:cur = CUR
query p:com.b page:incount = 1
query p:com.b page:score = 2
query p:com.c inlinks:com.a/page1 = c
query p:com.c inlinks:com.b = see c
query p:com.c inlinks:com.d =
query p:com.c page:incount = 3
query p:com.c page:score = 3
query p:com.c/page1 inlinks:com.b = one
query p:com.c/page1 page:incount = 1
query p:com.c/page1 page:score = 1
query p:com.d page:cur = CUR
query p:com.d page:incount = 0
query p:com.d page:score = 1
query t:3:com.c = 3
query t:1:com.b = 1
query t:1:com.c/page1 = 1
query t:0:com.a/page1 = 0
query t:0:com.d = 0
"""


def expected(
    pages: list[LoadedPage] | tuple[LoadedPage, ...], directory: Path, count: str = "all"
) -> dict[bytes, bytes]:
    store = MemoryStore()
    put_pages(store, pages)
    return dict(expected_cells(store, count, directory))


def test_the_documents_sample_gives_exactly_these_cells(tmp_path: Path) -> None:
    store = MemoryStore()
    put_pages(store, SAMPLE)
    curs = {page.cur for page in SAMPLE}
    printed = [
        f"{readable_key(key)} = {'CUR' if value in curs else value.decode()}".rstrip()
        for key, value in expected_cells(store, "all", tmp_path)
    ]
    assert printed == SAMPLE_CELLS.splitlines()


def test_a_page_is_copied_byte_for_byte(tmp_path: Path) -> None:
    cells = expected(SAMPLE, tmp_path)
    for written in SAMPLE:
        assert cells[keys.query_cur(written.uri)] == written.cur


@given(web=webs, count=st.sampled_from(["all", "external"]), memory=st.sampled_from([0, 300, 1000, 1 << 20]))
def test_any_web_gives_the_cells_that_counting_in_dicts_gives(
    tmp_path_factory: pytest.TempPathFactory, web: list[LoadedPage], count: str, memory: int
) -> None:
    store = MemoryStore()
    put_pages(store, web)
    cells = list(expected_cells(store, count, tmp_path_factory.getbasetemp(), memory=memory))
    ordered = [key for key, _ in cells]
    assert ordered == sorted(set(ordered))
    assert dict(cells) == naive_cells(web, external=count == "external")


def test_many_pages_with_little_memory_are_merged_in_passes(tmp_path: Path) -> None:
    web = [
        page(f"http://s{n % 7}.com/{n}", *(f"https://s{n * k % 199}.com/{n * k % 13}" for k in range(20)))
        for n in range(300)
    ]
    store = MemoryStore()
    put_pages(store, web)
    assert dict(expected_cells(store, "all", tmp_path, memory=2000)) == naive_cells(web)


def test_no_pages_give_no_cells(tmp_path: Path) -> None:
    assert expected([], tmp_path) == {}


def test_references_within_a_domain_are_left_out_when_only_external_ones_count(tmp_path: Path) -> None:
    inside = page("http://a.com/", "http://www.a.com/only-inside", "http://a.com/", ("http://b.com/", "out"))
    cells = expected([inside], tmp_path, "external")
    assert {key for key in cells if b"only-inside" in key} == set()
    assert cells[keys.query_cur(b"com.a")] == inside.cur
    assert cells[keys.incount(b"com.a")] == b"0"
    assert cells[keys.inlink(b"com.b", b"com.a")] == b"out"
    assert cells[keys.pagecount(b"com.a")] == b"1"


def test_a_page_that_names_a_target_twice_references_it_once_with_the_first_words(tmp_path: Path) -> None:
    links = [Outlink("http://b.com/", "first"), Outlink("https://b.com/", "second")]
    store = MemoryStore()
    batch = Batch()
    batch.add({keys.page_cur(b"com.a"): encode_page(PageRecord(url="http://a.com/", outlinkcount=2, outlinks=links))})
    store.write(batch, 1)
    cells = dict(expected_cells(store, "all", tmp_path))
    assert cells[keys.inlink(b"com.b", b"com.a")] == b"first"
    assert cells[keys.uri_info(b"com.b", b"com.b")] == b"1 1 0"


def test_columns_that_are_not_derived_are_left_aside(tmp_path: Path) -> None:
    store = MemoryStore()
    put_pages(store, SAMPLE)
    before = dict(expected_cells(store, "all", tmp_path))
    batch = Batch()
    batch.add({keys.page_version(b"com.a/page1"): b"1 00", keys.page_since(b"com.a/page1"): b"[1,1]"})
    batch.add({keys.page_gone(b"com.x"): b"1", keys.doc(b"com.a/page1"): b"text"})
    batch.put(Table.META, b"index", b"setting", b"count", b"all")
    store.write(batch, 2)
    assert dict(expected_cells(store, "all", tmp_path)) == before


@pytest.mark.parametrize(
    ("uri", "cur"),
    [
        (b"com.a", b"{"),
        (b"com.a", b""),
        (b"com.a", encode_page(PageRecord(url="http://a.com/", outlinkcount=1, outlinks=[Outlink("b.com")]))),
        (b"com.a", encode_page(PageRecord(url="http://a.com/", outlinkcount=1, outlinks=[Outlink("http://b.com/\0")]))),
        (b"", encode_page(PageRecord(url="http://a.com/", outlinkcount=0, outlinks=[]))),
        (b"com.a\0x", encode_page(PageRecord(url="http://a.com/", outlinkcount=0, outlinks=[]))),
        (b"com.a\xff", encode_page(PageRecord(url="http://a.com/", outlinkcount=0, outlinks=[]))),
    ],
)
def test_a_damaged_page_is_named(tmp_path: Path, uri: bytes, cur: bytes) -> None:
    store = MemoryStore()
    batch = Batch()
    batch.put(Table.FLUO, b"p:" + uri, keys.PAGE, keys.CUR, cur)
    store.write(batch, 1)
    with pytest.raises(PageUnreadable, match=r"fluo p:(com\.a)?.* page:cur cannot be read: "):
        list(expected_cells(store, "all", tmp_path))


def test_pages_that_change_meanwhile_are_noticed(tmp_path: Path) -> None:
    store = MemoryStore()
    put_pages(store, SAMPLE)
    cells = expected_cells(store, "all", tmp_path)
    next(cells)
    put_pages(store, [page("http://0.com/")], seq=2)
    with pytest.raises(PagesMoved, match=r"changed at com\.a/page1 .* holds still"):
        list(cells)


def test_an_unknown_way_to_count_is_a_bug(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="some"):
        list(expected_cells(MemoryStore(), "some", tmp_path))


def test_progress_is_told_in_pages(tmp_path: Path) -> None:
    store = MemoryStore()
    put_pages(store, [page(f"http://a.com/{n}") for n in range(2500)])
    told: list[tuple[str, int]] = []
    list(expected_cells(store, "all", tmp_path, progress=lambda what, number: told.append((what, number))))
    assert told == [("pages", 1000), ("pages", 2000), ("pages", 2500)]


def test_a_huge_row_is_never_held_whole(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store") as store:
        for seq in range(1, 7):
            numbers = range(seq * 1000, seq * 1000 + 1000)
            put_pages(store, [page(f"http://s{n % 9}.com/{n:0>99}", "http://famous.com/") for n in numbers], seq)
        tracemalloc.start()
        number = sum(1 for _ in expected_cells(store, "all", tmp_path, memory=1 << 17))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert number > 6000 * 7
    assert peak < 1 << 19, "the famous row alone has twice that"


@pytest.mark.long
def test_a_million_links_stay_within_memory(tmp_path: Path) -> None:
    """In a process of its own, so that nothing else has grown it before."""
    program = Path(million_links.__file__)
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path)], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    links, cells, grown = map(int, done.stdout.split())
    assert links >= 1_000_000
    assert cells > links
    assert grown < 96 << 20

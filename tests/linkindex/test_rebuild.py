"""Rebuild: the tables are what the pages call for, by whatever way they got there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.small_webs import SAMPLE, naive_cells, page, put_pages, webs
from weft.errors import BatchRefused
from weft.linkindex import keys
from weft.linkindex.derived import held_cells
from weft.linkindex.digest import digest
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.rebuild import rebuild
from weft.linkindex.verify import verify
from weft.store.api import Batch, Store
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksReader, RocksStore
from weft.store.tables import Table

ENGINES: dict[str, Callable[[Path], Store]] = {"memory": lambda _: MemoryStore(), "rocksdb": RocksStore}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batch_bytes", [1, 500, 1 << 20])
def test_a_rebuilt_store_has_exactly_the_cells_of_its_pages(tmp_path: Path, engine: str, batch_bytes: int) -> None:
    with ENGINES[engine](tmp_path / "store") as store:
        put_pages(store, SAMPLE)
        assert rebuild(store, "all", tmp_path, batch_bytes=batch_bytes) == 53
        assert dict(held_cells(store)) == naive_cells(SAMPLE)
        assert verify(store, "all", tmp_path).differences == 0
        assert store.last_seq == 2


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20])
def test_only_differences_are_written(tmp_path: Path, batch_bytes: int) -> None:
    with RocksStore(tmp_path / "store") as store:
        put_pages(store, SAMPLE)
        rebuild(store, "all", tmp_path, batch_bytes=batch_bytes)
        batch = Batch()
        batch.add({keys.incount(b"com.c"): b"7", keys.total(3, b"com.c"): None, keys.total(7, b"com.c"): b"7"})
        store.write(batch, 3)
        assert rebuild(store, "all", tmp_path, batch_bytes=batch_bytes) == 3
        assert sorted(cell.seq for cell in store.scan(*_row(b"com.c"))) == [2, 2, 2, 2, 4]
        assert verify(store, "all", tmp_path).differences == 0


def _row(uri: bytes) -> tuple[Table, bytes]:
    return Table.QUERY, b"p:" + uri


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20])
def test_cells_of_any_bytes_that_do_not_belong_there_are_removed(tmp_path: Path, batch_bytes: int) -> None:
    with RocksStore(tmp_path / "store") as store:
        batch = Batch()
        batch.put(Table.QUERY, b"z:\0\xff\0\1", b"\0f", b"\0\1", b"x")
        batch.put(Table.DOMAINS, b"", b"", b"", b"")
        store.write(batch, 1)
        assert rebuild(store, "all", tmp_path, batch_bytes=batch_bytes) == 2
        assert list(held_cells(store)) == []


def test_a_sound_store_is_not_written(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store") as store:
        put_pages(store, SAMPLE)
        rebuild(store, "all", tmp_path)
        assert rebuild(store, "all", tmp_path) == 0
        assert rebuild(store, "all", tmp_path, batch_bytes=0) == 0
        assert store.last_seq == 2


@given(
    before=webs, after=webs, counts=st.tuples(*[st.sampled_from(["all", "external"])] * 2), limit=st.integers(0, 4000)
)
def test_any_web_becomes_any_other_through_files_as_through_batches(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[LoadedPage],
    after: list[LoadedPage],
    counts: tuple[str, str],
    limit: int,
) -> None:
    place = tmp_path_factory.mktemp("rebuild")
    plain = MemoryStore()
    with RocksStore(place / "store") as store:
        for web, count in zip((before, after), counts, strict=True):
            for engine in (store, plain):
                _replace_pages(engine, web)
            assert rebuild(store, count, place, batch_bytes=limit) == rebuild(plain, count, place)
            assert dict(held_cells(store)) == naive_cells(web, external=count == "external")
            assert digest(store) == digest(plain)
        with RocksReader(place / "store") as reader:
            assert digest(reader) == digest(plain)


def _replace_pages(store: Store, web: Iterable[LoadedPage]) -> None:
    curs = {keys.page_cur(page.uri): page.cur for page in web}
    gone = {keys.page_cur(cell.row[2:]): None for cell in store.scan_rows(Table.FLUO, b"p:")}
    batch = Batch()
    batch.add({**gone, **curs})
    store.write(batch, store.last_seq + 1)


def test_a_store_that_moved_on_meanwhile_refuses(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store") as store:
        put_pages(store, SAMPLE)
        for limit in (1, 1 << 20):
            with pytest.raises(BatchRefused, match="not above"):
                rebuild(store, "all", tmp_path, lambda what, number: _late(store, what), batch_bytes=limit)


def _late(store: Store, what: str) -> None:
    if what == "pages":
        put_pages(store, [page("http://late.com/")], seq=store.last_seq + 1)


def test_readers_see_all_of_it_or_nothing(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store") as store:
        put_pages(store, SAMPLE)
        with RocksReader(tmp_path / "store") as reader:
            rebuild(store, "all", tmp_path, batch_bytes=1)
            assert dict(held_cells(reader)) == {}
            reader.refresh()
            assert dict(held_cells(reader)) == naive_cells(SAMPLE)


REBUILDING = """
import sys
from pathlib import Path
from weft import failpoints
from weft.linkindex.rebuild import rebuild
from weft.store.rocksdb import RocksStore
failpoints.arm(sys.argv[2])
place = Path(sys.argv[1])
rebuild(RocksStore(place / "store"), "all", place, batch_bytes=1)
"""


@pytest.mark.parametrize(("point", "differences"), [("before", 53), ("after", 0)])
def test_a_kill_leaves_the_store_as_it_was_or_as_it_should_be(tmp_path: Path, point: str, differences: int) -> None:
    with RocksStore(tmp_path / "store") as store:
        put_pages(store, SAMPLE)
    command = [sys.executable, "-c", REBUILDING, str(tmp_path), f"store.ingest.{point}:1:kill"]
    assert subprocess.run(command, check=False, env=dict(os.environ)).returncode == -9
    with RocksStore(tmp_path / "store") as store:
        assert verify(store, "all", tmp_path).differences == differences
        assert rebuild(store, "all", tmp_path, batch_bytes=1) == differences
        assert verify(store, "all", tmp_path).differences == 0
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.name != "store.ingest") == ["store", "store.lock"]

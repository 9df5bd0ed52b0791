"""The digest: the same for the same content, another for any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cassandra_store import new_store
from support.small_webs import SAMPLE, naive_cells, put_pages, webs
from weft.linkindex import keys
from weft.linkindex.digest import digest
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.rebuild import rebuild
from weft.store.api import Batch, Walked
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table

SAMPLE_CELLS = {**naive_cells(SAMPLE), **{keys.page_cur(page.uri): page.cur for page in SAMPLE}}


def sample_with(changes: dict[bytes, bytes | None]) -> MemoryStore:
    store = MemoryStore()
    batch = Batch()
    batch.add({**SAMPLE_CELLS, **changes})
    store.write(batch, 1)
    return store


SAMPLE_DIGEST = digest(sample_with({}))


def test_it_is_one_short_hash() -> None:
    assert len(SAMPLE_DIGEST) == 32
    assert int(SAMPLE_DIGEST, 16)


@given(web=webs, data=st.data())
def test_order_and_seqs_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, web: list[LoadedPage], data: st.DataObject
) -> None:
    place = tmp_path_factory.getbasetemp()
    at_once, one_by_one = MemoryStore(), MemoryStore()
    put_pages(at_once, web)
    for seq, page in enumerate(data.draw(st.permutations(web)), 10):
        put_pages(one_by_one, [page], seq)
        rebuild(one_by_one, "all", place)
    rebuild(at_once, "all", place)
    assert digest(one_by_one) == digest(at_once)


@pytest.mark.parametrize("engine", ["rocksdb", "cassandra"])
def test_every_engine_gives_the_same(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    is_cluster = engine == "cassandra"
    with (
        new_store(request.getfixturevalue("cassandra_hosts")) if is_cluster else RocksStore(tmp_path / "store")
    ) as store:
        batch = Batch()
        batch.add(SAMPLE_CELLS)
        store.write(batch, 99)
        assert digest(store) == SAMPLE_DIGEST


def test_the_order_in_which_an_engine_walks_does_not_matter() -> None:
    class Backwards(MemoryStore):
        def walk(self, table: Table, prefix: bytes = b"", *, start: bytes = b"") -> Iterator[Walked]:
            return iter(reversed(list(super().walk(table, prefix, start=start))))

    store = Backwards()
    batch = Batch()
    batch.add(SAMPLE_CELLS)
    store.write(batch, 1)
    assert digest(store) == SAMPLE_DIGEST


@pytest.mark.parametrize("key", sorted(SAMPLE_CELLS))
def test_any_other_value_or_absence_changes_it(key: bytes) -> None:
    found = {digest(sample_with({key: value})) for value in (None, SAMPLE_CELLS[key] + b"\0", b"x", b"")}
    assert len(found - {SAMPLE_DIGEST}) >= 3
    assert digest(sample_with({key: SAMPLE_CELLS[key]})) == SAMPLE_DIGEST


@pytest.mark.parametrize("table", [Table.DOMAINS, Table.QUERY])
def test_no_byte_can_pass_from_one_part_of_a_cell_to_the_next(table: Table) -> None:
    found = set()
    for parts in (
        (b"ab", b"c", b"d", b"e"),
        (b"a", b"bc", b"d", b"e"),
        (b"ab", b"", b"cd", b"e"),
        (b"ab", b"c", b"", b"de"),
    ):
        store = MemoryStore()
        batch = Batch()
        batch.put(table, *parts)
        store.write(batch, 1)
        found.add(digest(store))
    assert len(found) == 4


def test_tables_are_told_apart() -> None:
    found = set()
    for table in (Table.DOMAINS, Table.QUERY):
        store = MemoryStore()
        batch = Batch()
        batch.put(table, b"r", b"f", b"q", b"v")
        store.write(batch, 1)
        found.add(digest(store))
    assert len(found) == 2


def test_what_is_not_content_is_left_aside() -> None:
    store = sample_with({})
    batch = Batch()
    batch.add({keys.page_version(b"com.a/page1"): b"1 00", keys.page_since(b"com.a/page1"): b"[1]"})
    batch.add({keys.page_gone(b"com.x"): b"1", keys.doc(b"com.a/page1"): b"text"})
    for table, row in ((Table.CHANGES, b"a:04"), (Table.LINKS, b"l:com.a"), (Table.META, b"m")):
        batch.put(table, row, b"f", b"q", b"v")
    store.write(batch, 2)
    assert digest(store) == SAMPLE_DIGEST

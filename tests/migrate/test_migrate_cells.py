"""A store copied into another engine holds the same, goes on after any interruption, and says what is in its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.cassandra_store import new_store, shared_session
from support.small_webs import SAMPLE, put_pages, webs
from weft import failpoints
from weft.dispatcher.domain_work import DomainWork, encode_work, list_key, work_key
from weft.errors import StoreDiffers, StoreError, StoreUnfinished
from weft.linkindex.digest import digest
from weft.linkindex.feed import must_build_anew
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.rebuild import rebuild
from weft.migrate.cells import StoreCopy
from weft.store.api import Batch, Cell, CopiedCell, CopyStore, Reader
from weft.store.cassandra.schema import empty_keyspace
from weft.store.encoding import cell_key
from weft.store.memory import MemoryStore
from weft.store.migration_note import read_note, refuse_unfinished
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table, ranked

LISTED = {list_key(b"com.a", 70): b"", list_key(b"com.b", 80): b""}
EVERY_KIND: dict[bytes, bytes] = {
    work_key(b"com.a"): encode_work(DomainWork(listed=70)),
    work_key(b"com.b"): encode_work(DomainWork(first=80, listed=80)),
    work_key(b"com.c"): encode_work(DomainWork(links=3)),
    **LISTED,
}
PLAIN = [
    (Table.CHANGES, b"a:04", b"batch", b"\xff" * 8),
    (Table.CHANGES, b"u:com.a", b"batch", b"\xff" * 8),
    (Table.DOCS, b"x:com.a", b"doc", b""),
    (Table.FEED, b"f:04", b"round", bytes(8)),
    (Table.LINKS, b"l:com.a", b"link", b"com.a"),
    (Table.LINKS, b"n:1:xx", b"at", b"com.a"),
    (Table.LINKS, b"s:a.com", b"budget", b""),
    (Table.META, b"chunks", b"loaded", b"8"),
    (Table.META, b"clock", b"", b""),
]


def fill(store: MemoryStore, pages: Sequence[LoadedPage], place: Path) -> None:
    """In several batches, so that cells have different seqs."""
    put_pages(store, pages, 1)
    rebuild(store, "all", place)
    for seq, cell in enumerate(PLAIN, store.last_seq + 1):
        batch = Batch()
        batch.put(*cell, b"value %d" % seq)
        store.write(batch, seq)
    batch = Batch()
    batch.add(EVERY_KIND)
    store.write(batch, store.last_seq + 1)


def content(reader: Reader) -> dict[Table, list[Cell]]:
    """All but what each store writes for itself, and what tells search to build anew."""
    return {
        table: [cell for cell in reader.scan_rows(table) if cell.row not in (b"seq",) and cell.family != b"all"]
        for table in Table
    }


def comparable(cells: dict[Table, list[Cell]]) -> dict[Table, list[Cell]]:
    """And without the seq of page:cur in `query`: a cluster has that cell once, for `fluo` too."""
    kept = {table: [cell for cell in found if not cell.row.startswith(b"w:")] for table, found in cells.items()}
    kept[Table.QUERY] = [cell._replace(seq=0) if cell.qualifier == b"cur" else cell for cell in kept[Table.QUERY]]
    return kept


def copied(source: Reader, target: CopyStore, *, lists_work: bool = True, at_once: int = 1000) -> None:
    done = StoreCopy(source, "the old one", target, "the new one", lists_work, at_once).run(lambda *_: None)
    target.write(done.last, done.seq)
    assert done.digest == digest(source)


@pytest.fixture(params=["memory", "rocksdb", "cassandra"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CopyStore]:
    if request.param == "cassandra":
        made: CopyStore = new_store(request.getfixturevalue("cassandra_hosts"))
    else:
        made = MemoryStore() if request.param == "memory" else RocksStore(tmp_path / "target")
    with made as store:
        yield store


@pytest.fixture
def source(tmp_path: Path) -> MemoryStore:
    store = MemoryStore()
    fill(store, SAMPLE, tmp_path)
    return store


def test_every_cell_is_copied_with_its_seq(source: MemoryStore, target: CopyStore) -> None:
    copied(source, target)
    assert comparable(content(target)) == comparable(content(source))
    assert digest(target) == digest(source)


def test_lists_of_domains_with_work_are_made_from_the_domains(source: MemoryStore, target: CopyStore) -> None:
    copied(source, target)
    lists = [(cell.row, cell.qualifier) for cell in target.scan_rows(Table.LINKS, b"w:")]
    assert lists == [(cell.row, cell.qualifier) for cell in source.scan_rows(Table.LINKS, b"w:")]
    assert len(lists) == len(LISTED)


def test_where_they_are_kept_in_memory_they_are_left_out(source: MemoryStore, target: CopyStore) -> None:
    copied(source, target, lists_work=False)
    assert list(target.scan_rows(Table.LINKS, b"w:")) == []


def test_seqs_go_on_above_those_of_the_source(source: MemoryStore, target: CopyStore) -> None:
    copied(source, target)
    assert target.last_seq > source.last_seq
    batch = Batch()
    batch.put(Table.META, b"clock", b"", b"", b"later")
    target.write(batch, target.last_seq + 1)
    assert [cell.value for cell in target.scan(Table.META, b"clock")] == [b"later"]


def test_search_is_told_to_build_anew(source: MemoryStore, target: CopyStore) -> None:
    copied(source, target)
    assert must_build_anew(target, source.last_seq)
    assert not must_build_anew(target, target.last_seq)


@settings(max_examples=15)
@given(web=webs)
def test_a_round_trip_over_engines_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, web: list[LoadedPage]
) -> None:
    place = tmp_path_factory.mktemp("round")
    first, second = MemoryStore(), MemoryStore()
    fill(first, web, place)
    with RocksStore(place / "store") as rocks:
        copied(first, rocks)
        copied(rocks, second)
    assert comparable(content(second)) == comparable(content(first))


def test_from_rocksdb_to_cassandra_and_back(
    cassandra_hosts: tuple[str, ...], source: MemoryStore, tmp_path: Path
) -> None:
    with (
        RocksStore(tmp_path / "one") as first,
        new_store(cassandra_hosts) as cluster,
        RocksStore(tmp_path / "two") as second,
    ):
        copied(source, first)
        copied(first, cluster, lists_work=False)
        copied(cluster, second)
        assert [*map(len, content(second).values())] == [*map(len, content(source).values())]
        assert comparable(content(second)) == comparable(content(source))
        assert digest(second) == digest(source)


@contextmanager
def armed(text: str) -> Iterator[None]:
    failpoints.arm(text)
    try:
        yield
    finally:
        failpoints.arm("")


@pytest.mark.parametrize("step", [1, 2, 5, 9])
def test_an_interrupted_copy_goes_on_where_it_stopped(source: MemoryStore, target: CopyStore, step: int) -> None:
    with armed(f"migrate.copied:{step}:error"), pytest.raises(failpoints.InjectedError):
        copied(source, target, at_once=5)
    note = read_note(target)
    assert note is not None
    assert (note.step, note.is_copied) == (step + 1, False)
    with pytest.raises(StoreUnfinished, match="being migrated from the old one; finish it with `weft migrate`"):
        refuse_unfinished(target, "here")
    copied(source, target, at_once=5)
    refuse_unfinished(target, "here")
    assert comparable(content(target)) == comparable(content(source))


def test_a_copy_interrupted_at_its_very_end_is_only_compared_again(source: MemoryStore, target: CopyStore) -> None:
    with armed("migrate.compared:1:error"), pytest.raises(failpoints.InjectedError):
        copied(source, target)
    note = read_note(target)
    assert note is not None
    assert note.is_copied
    copied(source, target)
    assert comparable(content(target)) == comparable(content(source))


def test_a_target_that_holds_something_is_refused_and_left_alone(source: MemoryStore, target: CopyStore) -> None:
    batch = Batch()
    batch.put(Table.QUERY, b"t:" + ranked(3, b"com.x"), b"", b"", b"3")
    target.write(batch, 7)
    before = content(target)
    with pytest.raises(StoreError, match="store the new one: it is not empty; `weft migrate --again` empties it"):
        copied(source, target)
    assert content(target) == before


def test_a_source_that_moved_on_is_refused(source: MemoryStore, target: CopyStore) -> None:
    with armed("migrate.copied:1:error"), pytest.raises(failpoints.InjectedError):
        copied(source, target, at_once=5)
    batch = Batch()
    batch.put(Table.META, b"clock", b"", b"", b"later")
    source.write(batch, source.last_seq + 1)
    with pytest.raises(
        StoreError, match=r"unfinished copy of this index at seq \d+, which is at \d+ by now; .*--again"
    ):
        copied(source, target)


def test_an_unfinished_copy_of_another_index_is_refused(source: MemoryStore, tmp_path: Path) -> None:
    target = MemoryStore()
    with armed("migrate.copied:1:error"), pytest.raises(failpoints.InjectedError):
        copied(source, target, at_once=5)
    with (
        RocksStore(tmp_path / "another") as another,
        pytest.raises(StoreError, match=r"unfinished copy of another index \(the old one\); .*--again"),
    ):
        copied(another, target)


@pytest.mark.parametrize(
    "stray",
    [
        cell_key(Table.QUERY.byte, b"p:com.stray", b"page", b"incount"),
        cell_key(Table.DOCS.byte, b"x:com.stray", b"doc", b"text"),
        cell_key(Table.LINKS.byte, b"l:com.stray", b"link", b"com.stray/"),
    ],
)
def test_a_copy_that_differs_is_found(source: MemoryStore, target: CopyStore, stray: bytes) -> None:
    with armed("migrate.compared:1:error"), pytest.raises(failpoints.InjectedError):
        copied(source, target)
    target.copy_in({stray: CopiedCell(1, b"1")})
    with pytest.raises(StoreDiffers, match="the copy has digest"):
        copied(source, target)


def test_a_cluster_is_emptied_for_good(cassandra_hosts: tuple[str, ...], source: MemoryStore) -> None:
    with new_store(cassandra_hosts) as cluster:
        copied(source, cluster)
        batch = Batch()
        batch.delete(Table.META, b"clock", b"", b"")
        cluster.write(batch, cluster.last_seq + 1)
        assert not cluster.is_empty()
        empty_keyspace(shared_session(cassandra_hosts)[0])
    with new_store(cassandra_hosts) as cluster:
        assert (cluster.is_empty(), cluster.last_seq) == (True, 0)
        copied(source, cluster)
        assert comparable(content(cluster)) == comparable(content(source))


def test_a_copy_interrupted_within_its_first_step_goes_on(
    cassandra_hosts: tuple[str, ...], source: MemoryStore
) -> None:
    with new_store(cassandra_hosts) as cluster:
        with armed("store.apply:5:error"), pytest.raises(failpoints.InjectedError):
            copied(source, cluster)
        assert not cluster.is_empty()
        copied(source, cluster)
        assert comparable(content(cluster)) == comparable(content(source))

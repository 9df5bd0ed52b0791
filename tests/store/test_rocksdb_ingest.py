"""RocksStore.ingest: a batch of any size, in one step; and readers that are never behind what they should see."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.store_writing import SHARED_ROWS, assert_whole, batch_number
from weft import failpoints
from weft.config.sections import StoreSettings
from weft.errors import BatchRefused, StoreUnwritable, WeftError
from weft.store import rocks_ingest
from weft.store.api import Batch, BulkStore, Column, Reader, Store
from weft.store.encoding import cell_key
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksReader, RocksStore
from weft.store.tables import Table

TINY = StoreSettings(write_buffer_bytes=64 << 10, wal_bytes=256 << 10, cache_bytes=1 << 20)

ROWS = [b"row%03d" % number for number in range(200)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


def cells_of(batch: Batch) -> list[tuple[bytes, bytes | None]]:
    return sorted(batch.cells.items())


def ingest_number(store: RocksStore, seq: int) -> None:
    store.ingest(cells_of(batch_number(seq)), seq, store._path.parent)


def test_it_writes_what_a_batch_writes(path: Path) -> None:
    with RocksStore(path) as store, RocksStore(path.with_name("other")) as other:
        for seq in range(1, 6):
            ingest_number(store, seq)
            other.write(batch_number(seq), seq)
        for table in Table:
            assert list(store.scan_rows(table)) == list(other.scan_rows(table))
        assert store.last_seq == assert_whole(store) == 5
    with RocksStore(path) as store:
        assert store.last_seq == assert_whole(store) == 5


@pytest.mark.parametrize("between", ["memory", "flushed", "compacted", "reopened"])
def test_it_wins_over_what_was_there_and_deletes_it(path: Path, between: str) -> None:
    old = Batch()
    for row in ROWS:
        old.put(Table.QUERY, row, b"f", b"q", b"old")
    store = RocksStore(path)
    store.write(old, 1)
    if between != "memory":
        store.flush()
    if between == "compacted":
        store._database.compact_range(None, None)
    if between == "reopened":
        store.close()
        store = RocksStore(path)
    with store:
        changes = {cell_key(Table.QUERY.byte, row, b"f", b"q"): b"new" for row in ROWS[:50]}
        gone = dict.fromkeys((cell_key(Table.QUERY.byte, row, b"f", b"q") for row in ROWS[50:100]), None)
        store.ingest(sorted({**changes, **gone}.items()), 2, path.parent)
        expected = dict.fromkeys(ROWS[:50], b"new") | dict.fromkeys(ROWS[100:], b"old")
        assert {cell.row: cell.value for cell in store.scan_rows(Table.QUERY)} == expected
        assert looked_up(store) == expected
        store.write(old, 3)
        assert set(looked_up(store).values()) == {b"old"}
        assert len(looked_up(store)) == 200


def looked_up(reader: Reader) -> dict[bytes, bytes]:
    cells = reader.get(Table.QUERY, [Column(row, b"f", b"q") for row in ROWS])
    return {cell.row: cell.value for cell in cells if cell is not None}


def test_many_files_appear_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocks_ingest, "_LOOK_EVERY", 100)
    monkeypatch.setattr(rocks_ingest, "FILE_BYTES", 50_000)
    noise = random.Random(1)
    cells = [(cell_key(Table.QUERY.byte, b"%06d" % n, b"f", b"q"), noise.randbytes(100)) for n in range(20_000)]
    with RocksStore(path, TINY) as store, RocksReader(path) as reader:
        store.write(batch_number(1), 1)
        store.ingest(cells, 2, path.parent)
        assert len(store._database.live_files()) > 10
        reader.refresh()
        assert sum(1 for cell in reader.scan_rows(Table.QUERY) if cell.seq == 2) == 20_000


def test_no_cells_still_move_the_seq(path: Path) -> None:
    with RocksStore(path) as store:
        store.ingest([], 7, path.parent)
        assert store.last_seq == 7
    with RocksReader(path) as reader:
        assert reader.last_seq == 7


def test_cells_of_the_stores_own_table_go_before_and_after_its_last_seq(path: Path) -> None:
    keys = [cell_key(Table.META.byte, row, b"", b"") for row in (b"a", b"seq2", b"z")]
    with RocksStore(path) as store:
        store.ingest([(key, b"v") for key in keys], 3, path.parent)
        assert store.last_seq == 3
        assert [cell.row for cell in store.scan_rows(Table.META)] == [b"a", b"seq", b"seq2", b"z"]


def test_refusals_are_those_of_write(path: Path) -> None:
    with RocksStore(path, StoreSettings(max_value_bytes=64 << 10)) as store:
        store.write(batch_number(1), 1)
        big = [(cell_key(Table.QUERY.byte, b"z", b"", b""), bytes(65_537))]
        for cells, seq, said in (
            ([], 1, "not above 1"),
            (big, 2, "65,537 bytes is over the limit of 65,536"),
            (cells_of(batch_number(2))[::-1], 2, "does not come after"),
            (cells_of(batch_number(2)) * 2, 2, "does not come after"),
        ):
            with pytest.raises(BatchRefused, match=said):
                store.ingest(cells, seq, path.parent)
        assert assert_whole(store) == 1
        ingest_number(store, 2)
        assert assert_whole(store) == 2


def test_an_error_of_whoever_gives_the_cells_passes_through_and_leaves_the_store_usable(path: Path) -> None:
    class GivenUpError(WeftError):
        pass

    def cells() -> Iterator[tuple[bytes, bytes | None]]:
        yield from cells_of(batch_number(1))[:10]
        raise GivenUpError("no more")

    with RocksStore(path) as store:
        with pytest.raises(GivenUpError, match="no more"):
            store.ingest(cells(), 1, path.parent)
        assert not (path.parent / "store.ingest").exists()
        ingest_number(store, 1)
        assert assert_whole(store) == 1


def test_after_a_failed_ingest_the_store_takes_no_more_until_it_is_opened_again(path: Path) -> None:
    with RocksStore(path) as store:
        store.write(batch_number(1), 1)
        failpoints.arm("store.ingest.before:1:enospc")
        try:
            with pytest.raises(StoreUnwritable, match="disk is full"):
                ingest_number(store, 2)
        finally:
            failpoints.arm("")
        for attempt in (ingest_number, lambda store, seq: store.write(batch_number(seq), seq)):
            with pytest.raises(StoreUnwritable, match="open the store again"):
                attempt(store, 2)
        assert assert_whole(store) == 1
    with RocksStore(path) as store:
        ingest_number(store, 2)
        assert assert_whole(store) == 2


INGESTING = """
import sys
from pathlib import Path
from support.store_writing import batch_number
from weft import failpoints
from weft.store.rocksdb import RocksStore
failpoints.arm(sys.argv[2])
path = Path(sys.argv[1])
store = RocksStore(path)
for seq in range(1, 6):
    store.ingest(sorted(batch_number(seq).cells.items()), seq, path.parent)
"""


@pytest.mark.parametrize(("point", "expected"), [("before", 3), ("after", 4)])
def test_a_kill_before_or_after_keeps_whole_batches_and_the_next_ingest_cleans_up(
    path: Path, point: str, expected: int
) -> None:
    command = [sys.executable, "-c", INGESTING, str(path), f"store.ingest.{point}:4:kill"]
    assert subprocess.run(command, check=False, env=dict(os.environ)).returncode == -9
    assert (path.parent / "store.ingest").exists()
    with RocksReader(path) as reader:
        assert assert_whole(reader) == expected
    with RocksStore(path) as store:
        assert assert_whole(store) == expected
        ingest_number(store, expected + 1)
        assert assert_whole(store) == expected + 1
    assert not (path.parent / "store.ingest").exists()


def test_files_made_on_another_disk_are_taken_in_too(path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == path.parent.stat().st_dev:
        pytest.skip("needs a second file system at /dev/shm")
    place = elsewhere / f"weft-test-{os.getpid()}"
    try:
        with RocksStore(path) as store:
            store.ingest(cells_of(batch_number(1)), 1, place)
            assert assert_whole(store) == 1
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_engines_say_whether_they_can(path: Path) -> None:
    with RocksStore(path) as store:
        engines: list[Store] = [store, MemoryStore()]
        assert [isinstance(engine, BulkStore) for engine in engines] == [True, False]


@pytest.fixture
def small_disk(make_disk: Callable[[str], Path]) -> Path:
    return make_disk("8m")


def test_a_full_disk_is_said_and_the_store_is_as_it_was(small_disk: Path) -> None:
    noise = random.Random(1)
    cells = ((cell_key(Table.QUERY.byte, b"z%06d" % n, b"f", b"q"), noise.randbytes(1000)) for n in range(20_000))
    with RocksStore(small_disk / "store", TINY) as store:
        store.write(batch_number(1), 1)
        with pytest.raises(StoreUnwritable, match="disk is full"):
            store.ingest(cells, 2, small_disk)
        assert assert_whole(store) == 1
        assert not (small_disk / "store.ingest").exists()
        store.write(batch_number(2), 2)
        assert assert_whole(store) == 2


# Readers. RocksDB's own following is not enough: see RocksReader.refresh.


def reads_as_one(reader: Reader) -> int:
    """Check that scans, look-ups and the last seq tell of one and the same state; return its seq."""
    scanned = {cell.row: cell.value for cell in reader.scan_rows(Table.QUERY)}
    assert scanned == looked_up(reader)
    assert set(scanned.values()) == ({b"%d" % reader.last_seq} if reader.last_seq else set())
    return reader.last_seq


def all_rows(seq: int, chosen: random.Random) -> dict[bytes, bytes | None]:
    """Some rows say `seq`, all others are gone."""
    kept = set(chosen.sample(ROWS, chosen.randint(1, len(ROWS))))
    return {cell_key(Table.QUERY.byte, row, b"f", b"q"): b"%d" % seq if row in kept else None for row in ROWS}


def play(path: Path, steps: str, seed: int, tuning: StoreSettings | None = None) -> None:
    """w: write, i: ingest, f: flush, c: compact, o: open the writer again, n: new reader, r: refresh readers."""
    chosen, seq = random.Random(seed), 0
    store, readers = RocksStore(path, tuning), []
    try:
        for step in steps:
            if step in "wi":
                seq += 1
                cells = all_rows(seq, chosen)
                if step == "i":
                    store.ingest(sorted(cells.items()), seq, path.parent)
                else:
                    batch = Batch()
                    batch.add(cells)
                    store.write(batch, seq)
                assert reads_as_one(store) == seq
            elif step == "f":
                store.flush()
            elif step == "c":
                store._database.compact_range(None, None)
            elif step == "o":
                store.close()
                store = RocksStore(path, tuning)
            elif step == "n":
                readers.append(RocksReader(path))
            for reader in readers:
                before = reader.last_seq
                assert reads_as_one(reader) == before, "a reader moved by itself"
                if step == "r":
                    reader.refresh()
                    assert reads_as_one(reader) == seq
    finally:
        for opened in (store, *readers):
            opened.close()


@pytest.mark.parametrize("steps", ["wnir", "wnwir", "wniir", "wniwrir", "nir", "wnifr", "wnicr", "wnior", "inwifcor"])
def test_a_refreshed_reader_sees_what_was_ingested(path: Path, steps: str) -> None:
    play(path, steps, seed=1)


@pytest.mark.parametrize("steps", ["wnwfr", "wncwcr", "wnowcr", "wnowfwfwor", "wnwor", "wnrwfrwfr"])
def test_a_refreshed_reader_sees_what_was_flushed_or_compacted_with_no_batch_after_it(path: Path, steps: str) -> None:
    play(path, steps, seed=1)


@pytest.mark.parametrize("steps", ["wnir", "wnwfr"])
def test_a_log_whose_first_entry_is_only_half_there_counts_as_empty(
    path: Path, monkeypatch: pytest.MonkeyPatch, steps: str
) -> None:
    monkeypatch.setattr(RocksReader, "_is_log_empty", lambda _: False)
    play(path, steps, seed=1)


@pytest.mark.parametrize("seed", range(6))
def test_readers_are_never_behind_nor_torn(path: Path, seed: int) -> None:
    steps = "".join(random.Random(seed).choices("wifconr", weights=(6, 4, 2, 1, 1, 1, 5), k=40))
    play(path, steps, seed, TINY if seed % 2 else None)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
def test_readers_are_never_behind_nor_torn_in_long_histories(path: Path, seed: int) -> None:
    steps = "".join(random.Random(seed).choices("wifconr", weights=(6, 4, 2, 1, 1, 1, 5), k=60))
    play(path, steps, seed, TINY if seed % 2 else None)


# It rests for moments: a reader that cannot open the files between any two batches gives up, and rightly so.
LOOPING = """
import random, sys, time
from pathlib import Path
from support.store_writing import batch_number
from weft.store.rocksdb import RocksStore
path = Path(sys.argv[1])
store = RocksStore(path)
while True:
    seq = store.last_seq + 1
    if seq % 3:
        store.ingest(sorted(batch_number(seq).cells.items()), seq, path.parent)
    else:
        store.write(batch_number(seq), seq)
    print(seq, flush=True)
    time.sleep(random.uniform(0, 0.1))
"""


def test_readers_beside_a_process_that_ingests_see_only_whole_batches(path: Path) -> None:
    with RocksStore(path):
        pass
    command = [sys.executable, "-c", LOOPING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            with RocksReader(path) as reader:
                seen = []
                for _ in range(100):
                    told = int(writer.stdout.readline())
                    reader.refresh()
                    seen.append(assert_whole(reader))
                    rows = reader.get(Table.QUERY, [Column(row, b"f", b"q") for row in SHARED_ROWS])
                    assert {cell and cell.value for cell in rows} == {b"%d" % seen[-1]}
                    assert seen[-1] >= told
        finally:
            writer.kill()
    assert seen == sorted(seen)

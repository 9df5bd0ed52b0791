"""RocksStore when things go wrong: killed, full, damaged, foreign, in use."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.store_writing import acknowledged, assert_whole, batch_number, writer
from weft import failpoints
from weft.config.sections import StoreSettings
from weft.errors import (
    BatchRefused,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreInUse,
    StoreMissing,
    StoreUnwritable,
)
from weft.store.api import Batch
from weft.store.directory import MARKER, store_id
from weft.store.rocksdb import RocksReader, RocksStore
from weft.store.tables import Table

TINY = StoreSettings(write_buffer_bytes=64 << 10, wal_bytes=256 << 10, cache_bytes=1 << 20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


def filled(path: Path, batches: int = 50) -> Path:
    with RocksStore(path, TINY) as store:
        for seq in range(1, batches + 1):
            store.write(batch_number(seq), seq)
    return path


def kill_at_random_moments(path: Path, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    told = 0
    for _ in range(kills):
        with writer(path) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(moments.uniform(0, 0.15))
            process.kill()
            told = max(told, acknowledged(process))
        with RocksStore(path) as store:
            assert assert_whole(store) >= told
    assert told > kills, "the writer hardly wrote; this test proved nothing"


def test_ten_kills_lose_nothing_acknowledged_and_leave_no_half_batch(path: Path) -> None:
    kill_at_random_moments(path, kills=10, seed=1)


@pytest.mark.long
def test_a_hundred_kills_lose_nothing_acknowledged_and_leave_no_half_batch(path: Path) -> None:
    kill_at_random_moments(path, kills=100, seed=2)


@pytest.mark.parametrize(("point", "expected"), [("store.write.before", 6), ("store.write.after", 7)])
def test_a_kill_just_before_or_after_the_commit_keeps_whole_batches(path: Path, point: str, expected: int) -> None:
    with writer(path, fail=f"{point}:7:kill") as process:
        process.wait(timeout=30)
        assert process.returncode == -9
        assert acknowledged(process) == 6
    with RocksStore(path) as store:
        assert assert_whole(store) == expected


def test_a_kill_while_the_store_is_made_leaves_a_vacant_place(path: Path) -> None:
    path.with_name("store.new").mkdir(parents=True)
    path.with_name("store.new").joinpath("rubbish").write_text("left by a kill")
    with RocksStore(path) as store:
        assert store.last_seq == 0
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["store", "store.lock"]


def test_readers_in_other_processes_see_only_whole_batches(path: Path) -> None:
    filled(path, 1)
    with writer(path) as process:
        assert process.stdout is not None
        seen = []
        with RocksReader(path, TINY) as reader:
            for _ in range(60):
                told = int(process.stdout.readline())
                reader.refresh()
                seen.append(assert_whole(reader))
                assert seen[-1] >= told, "a refresh must see what was acknowledged before it"
    assert seen == sorted(seen)
    assert len(set(seen)) > 10


def test_a_reader_holds_still_until_it_is_refreshed(path: Path) -> None:
    with RocksStore(path) as store, RocksReader(path) as reader:
        store.write(batch_number(1), 1)
        assert reader.last_seq == 0
        reader.refresh()
        assert assert_whole(reader) == 1


def test_a_reader_survives_flush_compaction_and_a_closed_writer(path: Path) -> None:
    filled(path, 3)
    with RocksReader(path) as reader:
        with RocksStore(path, TINY) as store:
            for seq in range(4, 200):
                store.write(batch_number(seq), seq)
            store.flush()
        assert assert_whole(reader) == 3
        reader.refresh()
        assert assert_whole(reader) == 199


def test_readers_leave_nothing_behind(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, 1)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with RocksReader(path) as reader:
        assert assert_whole(reader) == 1
    assert list(scratch.iterdir()) == []


def test_a_second_writer_is_refused_and_told_who_writes(path: Path) -> None:
    with writer(path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreInUse, match=rf"another weft \(pid {process.pid}, `.*writing.py`, running for \d+ s\)"):
            RocksStore(path)
    with RocksStore(path) as store:
        assert store.last_seq >= 1


def test_a_second_writer_in_the_same_process_is_refused_too(path: Path) -> None:
    with RocksStore(path), pytest.raises(StoreInUse, match=f"pid {os.getpid()}"):
        RocksStore(path)


def test_a_missing_store_is_not_made_by_reading(path: Path) -> None:
    with pytest.raises(StoreMissing, match="weft init"):
        RocksReader(path)
    assert not path.exists()


@pytest.mark.parametrize("opened", [RocksStore, RocksReader])
def test_a_foreign_directory_is_refused_and_left_alone(path: Path, opened: type[RocksStore | RocksReader]) -> None:
    path.mkdir()
    (path / "precious.txt").write_text("mine")
    with pytest.raises(StoreForeign, match="not a weft store"):
        opened(path)
    assert [entry.name for entry in path.iterdir()] == ["precious.txt"]


def test_a_file_in_place_of_the_store_is_refused(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(StoreForeign, match="this is a file"):
        RocksStore(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("opened", [RocksStore, RocksReader])
@pytest.mark.parametrize(
    ("note", "said"),
    [
        ('{"format": 99}', "format 99, this weft reads format 2; use the weft that made it"),
        (
            '{"format": 1}',
            "format 1, this weft reads format 2; make a new home of its archive: `weft import --home NEW",
        ),
        ('{"format": 2, "uri_rules": 1}', "uri rules 1, this weft reads uri rules 2; make a new home"),
        ('{"format": 2, "uri_rules": 2, "fingerprints": 3}', "fingerprints 3, .*use the weft that made it"),
        ("[]", "format None"),
        ("%", "read"),
    ],
)
def test_another_format_is_refused(path: Path, opened: type[RocksStore | RocksReader], note: str, said: str) -> None:
    filled(path, 1)
    (path / MARKER).write_text(note)
    with pytest.raises(StoreForeign, match=said):
        opened(path)


def damage(file: Path, position: int) -> None:
    with file.open("r+b") as handle:
        handle.seek(position)
        handle.write(b"\x55\xaa\x55\xaa")


def test_a_damaged_table_file_is_an_error_and_never_a_shorter_answer(path: Path) -> None:
    with RocksStore(filled(path), TINY) as store:
        store.flush()
    for table in path.glob("*.sst"):
        damage(table, table.stat().st_size // 3)
    with pytest.raises(StoreCorrupt, match="damaged"), RocksReader(path) as reader:
        assert_whole(reader)


@pytest.mark.parametrize("opened", [RocksStore, RocksReader])
def test_a_missing_or_shortened_table_file_is_an_error(path: Path, opened: type[RocksStore | RocksReader]) -> None:
    with RocksStore(filled(path), TINY) as store:
        store.flush()
    table = max(path.glob("*.sst"), key=lambda file: file.stat().st_size)
    whole = table.read_bytes()
    for content in (None, whole[:-1], whole[: len(whole) // 2], bytes(len(whole))):
        if content is None:
            table.unlink()
        else:
            table.write_bytes(content)
        with pytest.raises(StoreCorrupt, match="damaged"):
            opened(path, TINY)
    table.write_bytes(whole)
    with opened(path, TINY) as store:
        assert assert_whole(store) == 50


def test_damage_anywhere_in_a_table_file_is_an_error_or_harmless(path: Path) -> None:
    with RocksStore(filled(path, 5), TINY) as store:
        store.flush()
    table = max(path.glob("*.sst"), key=lambda file: file.stat().st_size)
    whole = table.read_bytes()
    errors = 0
    for position in range(0, len(whole) - 4, 7):
        table.write_bytes(whole[:position] + b"\x55\xaa\x55\xaa" + whole[position + 4 :])
        try:
            with RocksReader(path, TINY) as reader:
                assert assert_whole(reader) == 5
        except StoreCorrupt:
            errors += 1
    assert errors > 10


def test_a_damaged_log_is_an_error_and_never_a_silent_loss(path: Path) -> None:
    with RocksStore(path) as store:
        for seq in range(1, 50):
            store.write(batch_number(seq), seq)
        shutil.copytree(path, path.with_name("copy"))  # as a crash leaves it: nothing flushed
    log = max(path.with_name("copy").glob("*.log"), key=lambda file: file.stat().st_size)
    damage(log, log.stat().st_size // 2)
    with pytest.raises(StoreCorrupt, match="damaged"):
        RocksStore(path.with_name("copy"))


def test_a_missing_file_is_an_error(path: Path) -> None:
    filled(path)
    (path / "CURRENT").unlink()
    for opened in (RocksStore, RocksReader):
        with pytest.raises(StoreCorrupt, match="damaged"):
            opened(path)


def test_values_over_the_limit_are_refused_and_nothing_changes(path: Path) -> None:
    with RocksStore(path, StoreSettings(max_value_bytes=1000)) as store:
        batch = batch_number(1)
        batch.put(Table.QUERY, b"big", b"f", b"q", bytes(1001))
        with pytest.raises(BatchRefused, match="1,001 bytes is over the limit of 1,000"):
            store.write(batch, 1)
        assert assert_whole(store) == 0


def test_a_value_of_a_gigabyte_is_refused_by_default(path: Path) -> None:
    with RocksStore(path) as store:
        batch = Batch()
        batch.put(Table.QUERY, b"big", b"f", b"q", bytes(1 << 30))
        with pytest.raises(BatchRefused, match="over the limit of 67,108,864"):
            store.write(batch, 1)


def test_after_a_failed_write_the_store_takes_no_more_until_it_is_opened_again(path: Path) -> None:
    with RocksStore(path) as store:
        store.write(batch_number(1), 1)
        failpoints.arm("store.write.before:1:enospc")
        try:
            with pytest.raises(StoreUnwritable, match="disk is full"):
                store.write(batch_number(2), 2)
            with pytest.raises(StoreUnwritable, match="open the store again"):
                store.write(batch_number(2), 2)
            assert assert_whole(store) == 1
        finally:
            failpoints.arm("")
    with RocksStore(path) as store:
        store.write(batch_number(2), 2)
        assert assert_whole(store) == 2


def test_a_checkpoint_is_a_store_of_its_own(path: Path) -> None:
    with RocksStore(path) as store:
        store.write(batch_number(1), 1)
        store.checkpoint(path.with_name("copy"))
        store.write(batch_number(2), 2)
        with pytest.raises(StoreError, match="something is there already"):
            store.checkpoint(path.with_name("copy"))
    with RocksStore(path.with_name("copy")) as copy:
        assert assert_whole(copy) == 1
        copy.write(batch_number(2), 2)
    with RocksReader(path) as original:
        assert assert_whole(original) == 2


@pytest.fixture
def small_disk(make_disk: Callable[[str], Path]) -> Path:
    return make_disk("8m")


def test_a_full_disk_is_said_and_nothing_acknowledged_is_lost(small_disk: Path) -> None:
    path, told = small_disk / "store", 0
    store = RocksStore(path, TINY)
    with pytest.raises(StoreUnwritable, match="disk is full"):  # noqa: PT012 - which write fails is the disk's choice
        for seq in range(1, 100_000):
            store.write(batch_number(seq), seq)
            told = seq
    with RocksReader(path) as reader:
        assert assert_whole(reader) >= told
    store.close()
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    with RocksStore(path, TINY) as store:
        assert assert_whole(store) >= told > 10
        store.write(batch_number(store.last_seq + 1), store.last_seq + 1)


def test_a_read_only_disk_can_be_read_but_not_written(small_disk: Path) -> None:
    path = filled(small_disk / "store", 5)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(StoreUnwritable, match=r"[Rr]ead-only"):
        RocksStore(path)
    with pytest.raises(StoreUnwritable, match=r"[Rr]ead-only"):
        RocksStore(small_disk / "another")
    with RocksReader(path) as reader:
        assert assert_whole(reader) == 5


@pytest.mark.parametrize("cache", [1 << 20, 5 << 20])
def test_settings_hold_at_every_opening(path: Path, cache: int) -> None:
    filled(path, 2)
    for opened in (RocksStore, RocksReader):
        with opened(path, StoreSettings(cache_bytes=cache)) as store:
            assert store._database.property_int_value("rocksdb.block-cache-capacity") == cache


def test_the_marker_tells_the_format(path: Path) -> None:
    filled(path, 1)
    marker = json.loads((path / MARKER).read_text())
    assert len(marker.pop("id")) == 32
    assert marker == {
        "weft": "store",
        "engine": "rocksdb",
        "format": 2,
        "uri_rules": 2,
        "fingerprints": 1,
    }


def test_a_store_keeps_its_id_and_a_copy_has_it_too(path: Path, tmp_path: Path) -> None:
    filled(path, 1)
    name = store_id(path)
    with RocksStore(path) as store:
        store.checkpoint(tmp_path / "copy")
    assert store_id(path) == store_id(tmp_path / "copy") == name
    filled(tmp_path / "other", 1)
    assert store_id(tmp_path / "other") != name


def test_a_store_of_before_gets_an_id_when_it_is_opened_for_writing(path: Path) -> None:
    filled(path, 1)
    marker = json.loads((path / MARKER).read_text())
    del marker["id"]
    (path / MARKER).write_text(json.dumps(marker))
    assert store_id(path) == ""
    RocksReader(path).close()
    assert store_id(path) == ""
    RocksStore(path).close()
    assert len(store_id(path)) == 32


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads have no priority of their own here")
def test_merging_gives_way_to_those_who_load_pages(path: Path) -> None:
    with RocksStore(path):
        stats = [(task / "stat").read_text().rpartition(") ") for task in Path("/proc/self/task").iterdir()]
    niceness = {name.partition("(")[2]: int(fields.split()[16]) for name, _, fields in stats}
    assert niceness["rocksdb:low"] == 10
    assert niceness["rocksdb:high"] == 0, "pages wait for what it writes"

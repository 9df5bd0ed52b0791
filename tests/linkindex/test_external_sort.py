"""Sorting within bounds of memory."""

from __future__ import annotations

import errno
import os
import tracemalloc
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.linkindex.external_sort import ExternalSort, SortUnwritable, _Run


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@given(
    records=st.lists(st.binary(max_size=40)),
    memory=st.integers(0, 2000),
    most_runs=st.integers(0, 6),
    at_once=st.integers(1, 20),
)
def test_records_come_back_in_order_with_their_duplicates(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], memory: int, most_runs: int, at_once: int
) -> None:
    with ExternalSort(tmp_path_factory.getbasetemp(), memory, most_runs) as sort:
        for start in range(0, len(records), at_once):
            sort.extend(records[start : start + at_once])
        assert list(sort) == sorted(records)


def test_records_added_one_by_one_are_bounded_too(tmp_path: Path) -> None:
    with ExternalSort(tmp_path, memory=200) as sort:
        for number in range(100, 0, -1):
            sort.add(b"%03d" % number)
        assert list(sort) == [b"%03d" % number for number in range(1, 101)]


def test_it_can_be_read_twice_at_once_and_go_on_afterwards(tmp_path: Path) -> None:
    with ExternalSort(tmp_path, memory=500, most_runs=3) as sort:
        sort.extend([b"%03d" % (number * 7 % 200) for number in range(200)])
        once, again = iter(sort), iter(sort)
        assert [next(once) for _ in range(150)] == [next(again) for _ in range(150)]
        assert list(once) == list(again)
        sort.add(b"")
        assert list(sort)[:2] == [b"", b"000"]


def test_an_empty_sort_gives_nothing(tmp_path: Path) -> None:
    with ExternalSort(tmp_path) as sort:
        assert list(sort) == []


def test_the_number_of_open_files_is_bounded(tmp_path: Path) -> None:
    before = open_files()
    with ExternalSort(tmp_path, memory=300, most_runs=8) as sort:
        most = 0
        for number in range(3000):
            sort.add(b"%05d" % (number * 997 % 3000))
            most = max(most, open_files() - before)
        assert list(sort) == [b"%05d" % number for number in range(3000)]
    assert 4 <= most <= 8 + 1  # one more while a merge writes
    assert open_files() == before


def test_nothing_is_seen_in_the_directory(tmp_path: Path) -> None:
    with ExternalSort(tmp_path, memory=100) as sort:
        sort.extend([b"x" * 50] * 20)
        assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_what_is_sorted(tmp_path: Path) -> None:
    random = Random(1)
    memory = 2 << 20
    with ExternalSort(tmp_path, memory, most_runs=16) as sort:
        tracemalloc.start()
        for _ in range(400):
            sort.extend([random.randbytes(60) for _ in range(500)])  # 20 MB in all
        before = b""
        for record in sort:
            assert before <= record
            before = record
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1.7 * memory


def test_long_records_do_not_make_blocks_long(tmp_path: Path) -> None:
    with ExternalSort(tmp_path, memory=4 << 20, most_runs=64) as sort:
        sort.extend([bytes([n % 251]) * 5000 for n in range(2000)])
        assert {len(block) for run in sort._runs for block in run.blocks()} <= {3, 4, 5, 6, 7, 8}
        assert len(list(sort)) == 2000


def test_a_file_that_takes_a_little_at_a_time_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowFile(FileIO):
        def write(self, data: memoryview) -> int:  # type: ignore[override]
            return super().write(data[:10])

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: SlowFile(tmp_path / "file", "w+"))
    with ExternalSort(tmp_path, memory=3000) as sort:
        sort.extend([b"%03d" % number for number in range(100)])
        assert list(sort) == [b"%03d" % number for number in range(100)]


def test_a_missing_directory_is_said_in_a_sentence(tmp_path: Path) -> None:
    sort = ExternalSort(tmp_path / "none", memory=10)
    with pytest.raises(SortUnwritable, match=r"sorting in .*none: No such file or directory"):
        sort.add(b"record that does not fit")


def test_a_full_disk_is_said_and_nothing_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_Run, "append", fail)
    before = open_files()
    with (
        pytest.raises(SortUnwritable, match=rf"sorting in {tmp_path}: the disk is full; make room or name another"),
        ExternalSort(tmp_path, memory=10) as sort,
    ):
        sort.add(b"record that does not fit")
    assert open_files() == before


def test_a_really_full_disk_is_said(make_disk: Callable[[str], Path]) -> None:
    random = Random(1)
    records = [random.randbytes(1000) for _ in range(5000)]
    with pytest.raises(SortUnwritable, match="full"), ExternalSort(make_disk("1m"), memory=100_000) as sort:
        sort.extend(records)

"""A file is there whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from weft import failpoints
from weft.errors import UsageError
from weft.export.whole_file import PART, ExportUnwritable, whole_file


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def write(path: Path, data: bytes, *, replace: bool = False, meanwhile: Callable[[], object] = lambda: None) -> None:
    with whole_file(path, replace=replace) as sink:
        sink.write(data)
        meanwhile()


def interrupt() -> None:
    raise KeyboardInterrupt


def test_the_file_appears_with_its_last_byte(tmp_path: Path) -> None:
    with whole_file(tmp_path / "out", replace=False) as sink:
        sink.write(b"one ")
        assert names(tmp_path) == ["out" + PART]
        sink.write(b"two")
        assert sink.size == 7
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"one two"


def test_the_file_may_be_read_by_whom_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "out", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_an_error_leaves_nothing_and_an_older_file_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "out", b"old")
    for path, left in ((tmp_path / "out", ["out"]), (tmp_path / "other", ["out"])):
        with pytest.raises(KeyboardInterrupt):
            write(path, b"new", replace=True, meanwhile=interrupt)
        assert names(tmp_path) == left
    assert (tmp_path / "out").read_bytes() == b"old"


def test_a_file_that_is_there_is_replaced_only_on_demand(tmp_path: Path) -> None:
    write(tmp_path / "out", b"old")
    with pytest.raises(UsageError, match=r"out: this file exists; .* --force"):
        write(tmp_path / "out", b"new")
    assert (tmp_path / "out").read_bytes() == b"old"
    write(tmp_path / "out", b"new", replace=True)
    assert (tmp_path / "out").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_a_file_that_comes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this file exists"):
        write(tmp_path / "out", b"new", meanwhile=lambda: (tmp_path / "out").write_bytes(b"somebody else's"))
    assert (tmp_path / "out").read_bytes() == b"somebody else's"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("left", [b"", b"half of a fi"])
def test_what_a_kill_left_is_removed_by_the_next(tmp_path: Path, left: bytes) -> None:
    (tmp_path / f"out{PART}").write_bytes(left)
    write(tmp_path / "out", b"whole")
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"whole"


def test_a_leftover_is_never_written_through_to_a_file_that_shares_it(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    os.link(tmp_path / "precious", tmp_path / f"out{PART}")
    write(tmp_path / "out", b"whole")
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_two_cannot_write_one_file_at_once(tmp_path: Path) -> None:
    with whole_file(tmp_path / "out", replace=False) as sink:
        sink.write(b"first")
        with pytest.raises(UsageError, match="another export is writing this file"):
            write(tmp_path / "out", b"second")
    assert (tmp_path / "out").read_bytes() == b"first"


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "out").symlink_to("data/real")
    write(tmp_path / "out", b"one")
    assert (tmp_path / "out").is_symlink()
    assert names(tmp_path / "data") == ["real"]
    with pytest.raises(UsageError, match=r"/out: this file exists"):
        write(tmp_path / "out", b"two")
    write(tmp_path / "out", b"two", replace=True)
    assert (tmp_path / "data" / "real").read_bytes() == b"two"


@pytest.mark.parametrize("replace", [True, False])
def test_only_an_ordinary_file_is_replaced(tmp_path: Path, replace: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    for name in ("pipe", "directory"):
        with pytest.raises(UsageError, match=f"{name}: not an ordinary file"):
            write(tmp_path / name, b"x", replace=replace)
    assert names(tmp_path) == ["directory", "pipe"]


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ExportUnwritable, match=r"no/out: it cannot be written: No such file or directory"):
        write(tmp_path / "no" / "out", b"x")


@pytest.mark.parametrize("point", ["export.write", "export.rename"])
def test_a_full_disk_at_any_step_leaves_nothing(tmp_path: Path, point: str) -> None:
    failpoints.arm(f"{point}:1:enospc")
    try:
        with pytest.raises(ExportUnwritable, match="the disk is full"):
            write(tmp_path / "out", b"x")
    finally:
        failpoints.arm("")
    assert names(tmp_path) == []


@pytest.mark.parametrize("size", [100, 3 << 20])
def test_a_disk_that_is_really_full_leaves_nothing(make_disk: Callable[[str], Path], size: int) -> None:
    """Also when the bytes wait in a buffer until the end."""
    small_disk = make_disk("1m")
    (small_disk / "filler").write_bytes(bytes((1 << 20) - 4096))
    with (small_disk / "filler").open("ab") as filler:
        filler.write(bytes(4096))
    with pytest.raises(ExportUnwritable, match="out: the disk is full"):
        write(small_disk / "out", bytes(size))
    assert names(small_disk) == ["filler"]


KILLED = """
import sys
from pathlib import Path
from weft import failpoints
from weft.export.whole_file import whole_file

failpoints.arm(sys.argv[2])
with whole_file(Path(sys.argv[1]), replace=True) as sink:
    for number in range(5):
        sink.write(b"x" * (1 << 20))
"""


@pytest.mark.parametrize("point", ["export.write:1", "export.write:4", "export.rename:1"])
def test_a_kill_leaves_the_older_file_and_an_obvious_leftover(tmp_path: Path, point: str) -> None:
    (tmp_path / "out").write_bytes(b"old")
    run = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "out", f"{point}:kill"], timeout=60, check=False)
    assert run.returncode == -signal.SIGKILL
    assert names(tmp_path) == ["out", "out" + PART]
    assert (tmp_path / "out").read_bytes() == b"old"
    write(tmp_path / "out", b"new", replace=True)
    assert names(tmp_path) == ["out"]

"""The lock of a process: one at a time, a note without secrets, and a pid that is really the holder's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.process_lock import LockHeld, LockHolder, ProcessLock, birth_of, command_name, holder_of


def test_only_one_holds_it_and_the_next_is_told_who(tmp_path: Path) -> None:
    path = tmp_path / "new" / "some.lock"
    assert holder_of(path) is None
    first = ProcessLock.take(path)
    with pytest.raises(LockHeld) as refused:
        ProcessLock.take(path)
    assert refused.value.holder.pid == os.getpid()
    assert refused.value.holder.is_alive
    assert holder_of(path) == refused.value.holder
    first.release()
    first.release()
    assert holder_of(path) is None
    ProcessLock.take(path).release()


def test_it_tells_that_its_holder_is_stopping(tmp_path: Path) -> None:
    lock = ProcessLock.take(tmp_path / "some.lock")
    lock.tell_stopping()
    found = holder_of(lock.path)
    assert found is not None
    assert (found.is_stopping, found.pid) == (True, os.getpid())
    lock.release()


def test_who_inherits_it_keeps_it_after_its_holder(tmp_path: Path) -> None:
    lock = ProcessLock.take(tmp_path / "some.lock")
    heir = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock.descriptor])
    lock.release()
    assert holder_of(lock.path) is not None
    heir.communicate(b"\n")
    assert holder_of(lock.path) is None


@pytest.mark.parametrize("note", [b"", b"{", b"[1]", b'{"pid": "x"}', b"\xff" * 5000])
def test_a_damaged_note_names_nobody(tmp_path: Path, note: bytes) -> None:
    lock = ProcessLock.take(tmp_path / "some.lock")
    lock.path.write_bytes(note)
    found = holder_of(lock.path)
    assert found == LockHolder()
    assert not found.is_alive
    assert str(found) == "another weft"
    lock.release()


def test_a_pid_that_now_belongs_to_another_process_is_not_the_holder() -> None:
    mine = birth_of(os.getpid())
    assert mine > 0
    assert LockHolder(pid=os.getpid(), born=mine).is_alive
    assert not LockHolder(pid=os.getpid(), born=mine - 1).is_alive


def test_a_process_that_has_ended_is_not_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    holder = LockHolder(pid=process.pid, born=birth_of(process.pid))
    assert holder.is_alive
    process.communicate(b"\n")
    assert not holder.is_alive


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["/bin/weft", "crawl", "https://u:secret@a.com/", "--set", "spider.token=secret"], "weft crawl"),
        (["x/__main__.py", "--home", "secret", "--set", "mgmt.url=secret", "up"], "weft up"),
        (["weft", "--set=spider.token=secret", "run", "--home=x", "index", "secret"], "weft run index"),
        (["weft", "--set"], "weft"),
        (["-", "secret"], "-"),
        (["tool.py", "crawl", "secret"], "tool.py"),
    ],
)
def test_a_command_is_named_without_what_may_be_secret(arguments: list[str], name: str) -> None:
    assert command_name(arguments) == name

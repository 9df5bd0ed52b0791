"""The lock of a process: one at a time, a note without secrets, and a pid that is really the holder's."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
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


TELLER = """
import sys
from pathlib import Path
from weft.process_lock import ProcessLock
lock = ProcessLock.take(Path(sys.argv[1]))
print("taken", flush=True)
while True:
    lock.tell_stopping()
"""


def test_whoever_looks_while_the_note_changes_sees_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    teller = subprocess.Popen([sys.executable, "-c", TELLER, str(path)], stdout=subprocess.PIPE)
    assert teller.stdout is not None
    assert teller.stdout.readline() == b"taken\n"
    try:
        # Not only holder_of, which looks again when a note says nothing.
        assert {path.read_bytes().rstrip()[-1:] for _ in range(5000)} == {b"}"}
        assert {found.pid for _ in range(500) if (found := holder_of(path))} == {teller.pid}
    finally:
        teller.kill()
        teller.communicate()


def test_a_note_that_is_not_yet_written_is_waited_for(tmp_path: Path) -> None:
    lock = ProcessLock.take(tmp_path / "some.lock")
    note = lock.path.read_bytes()
    lock.path.write_bytes(b"")
    later = threading.Timer(0.03, lock.path.write_bytes, [note])
    later.start()
    found = holder_of(lock.path)
    later.join()
    assert found is not None
    assert found.pid == os.getpid()
    lock.release()


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

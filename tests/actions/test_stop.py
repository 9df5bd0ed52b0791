"""`stop_weft`: whoever holds a lock of the home is asked to end, and nobody else is."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from weft.actions import stop
from weft.actions.run_control import StopAsked
from weft.actions.run_control import stop as stop_from_anywhere
from weft.actions.stop import StopAnswer, stop_weft
from weft.errors import NotKnown
from weft.home import Home
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.process_lock import LockHolder, ProcessLock, birth_of

HOLDER = """
import signal, sys, threading
from pathlib import Path
from weft.process_lock import ProcessLock
lock, asked = ProcessLock.take(Path(sys.argv[1])), threading.Event()
signal.signal(signal.SIGTERM, lambda *_: {then})
print("ready", flush=True)
asked.wait()
print("asked", flush=True)
"""
OBEDIENT, DEAF = "asked.set()", "print('deaf', flush=True)"
PATIENCE = 60.0


@contextmanager
def holding(path: Path, then: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(then=then), str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_one_whose_note_cannot_be_read_has_not_stopped(home: Home) -> None:
    with holding(home.crawl_lock, OBEDIENT) as process:
        process.send_signal(signal.SIGSTOP)
        emptying = threading.Timer(0.3, home.crawl_lock.write_bytes, [b""])
        emptying.start()
        answer = stop_weft(home, 1.0)
        assert (answer.found, answer.stopped, answer.pid) == (True, False, process.pid)
        process.send_signal(signal.SIGCONT)


def test_in_a_home_that_nobody_uses_nothing_is_stopped(home: Home) -> None:
    assert stop_weft(home) == StopAnswer(found=False, stopped=False)
    ProcessLock.take(home.crawl_lock).release()
    assert not stop_weft(home).found


@pytest.mark.parametrize("name", ["crawl.lock", "store.lock"])
def test_whoever_uses_the_home_is_asked_and_waited_for(home: Home, name: str) -> None:
    with holding(home.path / name, OBEDIENT) as process:
        answer = stop_weft(home)
        assert (answer.found, answer.stopped, answer.killed, answer.pid) == (True, True, False, process.pid)
        assert process.communicate()[0] == "asked\n"
    assert not stop_weft(home).found


def test_one_that_does_not_stop_in_time_is_left_and_by_force_killed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "_KILL_AFTER", 0.2)
    with holding(home.crawl_lock, DEAF) as process:
        answer = stop_weft(home, patience=0.2)
        assert (answer.found, answer.stopped) == (True, False)
        assert process.poll() is None
        answer = stop_weft(home, PATIENCE, at_once=True)
        assert (answer.stopped, answer.killed) == (True, True)


def test_one_that_is_stopping_is_not_asked_a_second_time(home: Home) -> None:
    with holding(home.crawl_lock, DEAF) as process:
        note = msgspec.json.decode(home.crawl_lock.read_bytes(), type=LockHolder)
        home.crawl_lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(note, is_stopping=True)))
        assert not stop_weft(home, patience=0.2).stopped
        process.kill()
        assert process.communicate()[0] == ""


@pytest.mark.parametrize("at_once", [False, True], ids=["in order", "by force"])
def test_a_process_that_only_has_the_number_of_the_holder_is_left_alone(home: Home, at_once: bool) -> None:
    with holding(home.crawl_lock, OBEDIENT) as holder, holding(home.path / "other.lock", OBEDIENT) as bystander:
        wrong = LockHolder(pid=bystander.pid, born=birth_of(bystander.pid) - 1, command="weft crawl")
        home.crawl_lock.write_bytes(msgspec.json.encode(wrong))
        answer = stop_weft(home, patience=0.2, at_once=at_once)
        assert (answer.found, answer.stopped, answer.killed) == (True, False, False)
        assert holder.poll() is None
        bystander.kill()
        assert bystander.communicate()[0] == ""


def test_a_stop_from_anywhere_asks_and_does_not_wait(home: Home) -> None:
    mgmt = MemoryMgmt()
    with pytest.raises(NotKnown, match="nothing is running in this home"):
        stop_from_anywhere(mgmt, home)
    with holding(home.crawl_lock, DEAF) as process:
        asked = stop_from_anywhere(mgmt, home)
        assert (asked.pid, asked.nodes) == (process.pid, [])
        assert process.stdout is not None
        assert process.stdout.readline() == "deaf\n", "it was asked"
        assert process.poll() is None
    with holding(home.crawl_lock, OBEDIENT) as process:
        stop_from_anywhere(mgmt, home)
        assert process.wait(PATIENCE) == 0


def test_a_stop_everywhere_asks_all_nodes_at_once(home: Home) -> None:
    mgmt = MemoryMgmt()
    with pytest.raises(NotKnown, match="nothing is running on any machine"):
        stop_from_anywhere(mgmt, home, everywhere=True)
    web, *leases = [mgmt.register(kind, f"10.0.0.{n}:1") for n, kind in enumerate(reversed(NodeType))]
    asked = stop_from_anywhere(mgmt, home, everywhere=True)
    assert asked == StopAsked(nodes=["10.0.0.4:1", "10.0.0.3:1", "10.0.0.2:1", "10.0.0.1:1"]), "who takes work is first"
    assert {mgmt.heartbeat(lease) for lease in leases} == {NodeState.DRAINING}
    assert mgmt.heartbeat(web) is NodeState.ONLINE, "a web app shows what is left"
    for lease in leases:
        mgmt.tell(lease, NodeState.OFFLINE)
    with pytest.raises(NotKnown, match="nothing is running on any machine"):
        stop_from_anywhere(mgmt, home, everywhere=True)

"""The supervisor: a role that dies is restarted, one that cannot run is reported, and all are stopped in order."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.process_lock import ProcessLock, holder_of
from weft.roles.supervisor_pipe import SupervisorPipe
from weft.supervisor import role_process
from weft.supervisor import supervisor as supervisor_module
from weft.supervisor.role_process import RoleCommand, RoleProcess, RoleRefused
from weft.supervisor.supervisor import Supervisor

PATIENCE = 60.0
WAITING = RoleCommand("config", ("config", "--help"))
PIPE = SupervisorPipe()
MISTAKEN = RoleCommand("config", ("config", "--nonsense"))


def supervisor_of(command: RoleCommand, place: Path, say: Callable[[str], None]) -> Supervisor:
    return Supervisor([command], place / "logs", say, ProcessLock.take(place / "crawl.lock"))


def wait_for_end(process: RoleProcess) -> None:
    assert process.wait(PATIENCE)


def test_a_role_that_never_ran_and_refuses_is_not_started_again(tmp_path: Path) -> None:
    process = RoleProcess(MISTAKEN, tmp_path, PIPE)
    process.start()
    wait_for_end(process)
    with pytest.raises(RoleRefused, match=r"config cannot run: .*nonsense"):
        process.look_after()


def test_a_role_that_ran_is_started_again_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(role_process, "_FIRST_WAIT", 0.01)
    process = RoleProcess(WAITING, tmp_path, PIPE)
    process._wait = 0.01
    process.start()
    wait_for_end(process)
    assert "config ended (exit code 0), restarting" in process.look_after()
    first = process.restarts
    end = time.monotonic() + PATIENCE
    while process.restarts == first and time.monotonic() < end:
        assert process.look_after() == ""
    assert (first, process.restarts) == (0, 1)
    wait_for_end(process)


def test_a_role_that_ran_once_is_started_again_even_when_it_refuses_later(tmp_path: Path) -> None:
    process = RoleProcess(WAITING, tmp_path, PIPE)
    process.start()
    wait_for_end(process)
    process.look_after()
    process.command = MISTAKEN
    process.start()
    wait_for_end(process)
    assert "nonsense" in process.look_after()


@pytest.mark.parametrize(
    ("code", "lived", "wait"), [(1, 1.0, 1.0), (1, 61.0, 0.5), (-signal.SIGKILL, 1.0, 0.5), (-signal.SIGSEGV, 1.0, 1.0)]
)
def test_only_deaths_that_may_be_its_own_fault_make_it_wait_longer(
    tmp_path: Path, code: int, lived: float, wait: float
) -> None:
    assert RoleProcess(WAITING, tmp_path, PIPE)._next_wait(code, lived) == wait


def test_the_supervisor_says_why_it_ended_and_leaves_no_process(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = supervisor_of(WAITING, tmp_path, said.append)
    assert supervisor.run(lambda: "enough" if said else "", lambda: None) == "enough"
    assert "config ended" in said[0]
    assert not any(process.is_running for process in supervisor.processes)


def test_a_signal_stops_in_order_and_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = supervisor_of(WAITING, tmp_path, said.append)
    sent: list[int] = []

    def interrupt() -> None:
        if not sent:
            sent.append(1)
            os.kill(os.getpid(), signal.SIGINT)

    assert supervisor.run(lambda: "", interrupt) == "interrupted"
    assert any("press Ctrl-C again to stop at once" in sentence for sentence in said)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_while_it_stops_its_lock_says_so_and_a_failing_view_does_not_matter(tmp_path: Path) -> None:
    seen: list[bool] = []

    def show() -> None:
        holder = holder_of(tmp_path / "crawl.lock")
        seen.append(holder is not None and holder.is_stopping)
        raise OSError("the terminal is gone")

    supervisor = supervisor_of(WAITING, tmp_path, lambda sentence: None)
    with pytest.raises(OSError, match="gone"):
        supervisor.run(lambda: "", show)
    assert seen[0] is False
    assert all(seen[1:])
    assert not any(process.is_running for process in supervisor.processes)


@pytest.mark.parametrize("is_ignored", [False, True], ids=["heard", "ignored with nohup"])
def test_a_hangup_stops_it_unless_it_was_ignored_from_the_start(tmp_path: Path, is_ignored: bool) -> None:
    said: list[str] = []
    supervisor = supervisor_of(WAITING, tmp_path, said.append)
    turns: list[int] = []

    def hang_up() -> None:
        turns.append(1)
        if len(turns) == 1:
            os.kill(os.getpid(), signal.SIGHUP)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    try:
        reason = supervisor.run(lambda: "enough" if len(turns) > 3 else "", hang_up)
        assert signal.getsignal(signal.SIGHUP) is (signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert reason == ("enough" if is_ignored else "interrupted")
    assert ("the terminal was closed, stopping" in said) is not is_ignored


SLOW_TO_END = RoleCommand("slow", ("demo", "serve", "--hosts", "2", "--pages", "1"))


class Stubborn(RoleProcess):
    """Ends when it is told to, not when it is asked to."""

    is_ended = False
    asked = killed = False

    def start(self) -> None: ...

    def look_after(self) -> str:
        return ""

    def ask_to_stop(self) -> None:
        self.asked = True

    def kill(self) -> None:
        self.killed = self.killed or not self.is_ended

    def wait(self, seconds: float) -> bool:
        time.sleep(min(seconds, 0.01))
        return self.is_ended


def stubborn_supervisor(
    place: Path, monkeypatch: pytest.MonkeyPatch, progress: Callable[[], object], *, is_stuck: bool = False
) -> tuple[Supervisor, Stubborn, list[str]]:
    monkeypatch.setattr(supervisor_module, "_PATIENCE", 0.1)
    monkeypatch.setattr(supervisor_module, "_PATIENCE_BETWEEN", 0.3)
    said: list[str] = []
    lock = ProcessLock.take(place / "crawl.lock")
    made = Supervisor([SLOW_TO_END], place / "logs", said.append, lock, lambda: is_stuck, {"slow": progress})
    role = Stubborn(SLOW_TO_END, place, PIPE)
    made.processes = [role]
    return made, role, said


def test_a_role_that_gets_on_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()

    def progress() -> object:
        """For longer than the usual patience; then it ends."""
        role.is_ended = time.monotonic() - began > 1.0
        return time.monotonic()

    supervisor, role, said = stubborn_supervisor(tmp_path, monkeypatch, progress)
    assert supervisor.run(lambda: "enough", lambda: None) == "enough"
    assert role.asked
    assert not role.killed
    assert [sentence for sentence in said if "waiting for slow" in sentence] == said[-1:]


@pytest.mark.parametrize("is_stuck", [False, True], ids=["it does not get on", "the disk is full"])
def test_a_role_that_does_not_get_on_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stuck: bool) -> None:
    monkeypatch.setattr(supervisor_module, "_PATIENCE_IF_STUCK", 0.1)
    supervisor, role, _ = stubborn_supervisor(
        tmp_path, monkeypatch, time.monotonic if is_stuck else lambda: 1, is_stuck=is_stuck
    )
    began = time.monotonic()
    supervisor.run(lambda: "enough", lambda: None)
    assert role.killed
    assert time.monotonic() - began < 5


def test_a_signal_ends_the_waiting_for_a_role_that_gets_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, role, said = stubborn_supervisor(tmp_path, monkeypatch, time.monotonic)

    def interrupt() -> None:
        if any("waiting for slow" in sentence for sentence in said):
            os.kill(os.getpid(), signal.SIGINT)

    supervisor.run(lambda: "enough", interrupt)
    assert role.killed

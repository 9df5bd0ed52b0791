"""The supervisor: a role that dies is restarted, one that cannot run is reported, and all are stopped in order."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from weft.roles.supervisor_pipe import SupervisorPipe
from weft.supervisor import role_process
from weft.supervisor.role_process import RoleCommand, RoleProcess, RoleRefused
from weft.supervisor.supervisor import Supervisor

PATIENCE = 60.0
WAITING = RoleCommand("config", ("config", "--help"))
PIPE = SupervisorPipe()
MISTAKEN = RoleCommand("config", ("config", "--nonsense"))


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
    supervisor = Supervisor([WAITING], tmp_path / "logs", said.append)
    assert supervisor.run(lambda: "enough" if said else "", lambda: None) == "enough"
    assert "config ended" in said[0]
    assert not any(process.is_running for process in supervisor.processes)


def test_a_signal_stops_in_order_and_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor([WAITING], tmp_path / "logs", said.append)
    sent: list[int] = []

    def interrupt() -> None:
        if not sent:
            sent.append(1)
            os.kill(os.getpid(), signal.SIGINT)

    assert supervisor.run(lambda: "", interrupt) == "interrupted"
    assert any("press Ctrl-C again to stop at once" in sentence for sentence in said)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

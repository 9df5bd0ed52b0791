"""The supervisor: who dies is started again, who cannot run is told of, and all are stopped in order."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from weft.answers.disk import Disk, look_at_disk, size
from weft.roles.supervisor_pipe import SupervisorPipe
from weft.supervisor import child as children
from weft.supervisor.child import Child, Role, RoleRefused
from weft.supervisor.supervise import Supervisor

PATIENCE = 60.0
WAITING = Role("config", ("config", "--help"))
PIPE = SupervisorPipe()
MISTAKEN = Role("config", ("config", "--nonsense"))


def wait_for_end(child: Child) -> None:
    assert child.wait(PATIENCE)


def test_a_role_that_never_ran_and_refuses_is_not_started_again(tmp_path: Path) -> None:
    child = Child(MISTAKEN, tmp_path, PIPE)
    child.start()
    wait_for_end(child)
    with pytest.raises(RoleRefused, match=r"config cannot run: .*nonsense"):
        child.look_after()


def test_a_role_that_ran_is_started_again_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_FIRST_WAIT", 0.01)
    child = Child(WAITING, tmp_path, PIPE)
    child._wait = 0.01
    child.start()
    wait_for_end(child)
    assert "config ended (exit code 0), restarting" in child.look_after()
    first = child.restarts
    end = time.monotonic() + PATIENCE
    while child.restarts == first and time.monotonic() < end:
        assert child.look_after() == ""
    assert (first, child.restarts) == (0, 1)
    wait_for_end(child)


def test_a_role_that_ran_once_is_started_again_even_when_it_refuses_later(tmp_path: Path) -> None:
    child = Child(WAITING, tmp_path, PIPE)
    child.start()
    wait_for_end(child)
    child.look_after()
    child.role = MISTAKEN
    child.start()
    wait_for_end(child)
    assert "nonsense" in child.look_after()


@pytest.mark.parametrize(
    ("code", "lived", "wait"), [(1, 1.0, 1.0), (1, 61.0, 0.5), (-signal.SIGKILL, 1.0, 0.5), (-signal.SIGSEGV, 1.0, 1.0)]
)
def test_only_deaths_that_may_be_its_own_fault_make_it_wait_longer(
    tmp_path: Path, code: int, lived: float, wait: float
) -> None:
    assert Child(WAITING, tmp_path, PIPE)._next_wait(code, lived) == wait


def test_the_supervisor_says_why_it_ended_and_leaves_no_process(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor([WAITING], tmp_path / "logs", said.append)
    assert supervisor.run(lambda: "enough" if said else "", lambda: None) == "enough"
    assert "config ended" in said[0]
    assert not any(child.is_running for child in supervisor.children)


def test_a_signal_stops_in_order_and_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor([WAITING], tmp_path / "logs", said.append)
    sent: list[int] = []

    def interrupt() -> None:
        if not sent:
            sent.append(1)
            os.kill(os.getpid(), signal.SIGINT)

    assert supervisor.run(lambda: "", interrupt) == "interrupted"
    assert any("Ctrl-C again to stop at once" in sentence for sentence in said)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_disk_is_low_below_the_setting_and_says_so(tmp_path: Path) -> None:
    found = look_at_disk(tmp_path / "not" / "there" / "yet", 0)
    assert (found.is_low, found.free > 0) == (False, True)
    assert str(Disk(5_000_000, 512 << 20)) == "5.0 MB free, fetching waits until there are 536.9 MB (spider.min_free)"
    assert [size(n) for n in (1500, 2_500_000, 7_310_000_000)] == ["2 kB", "2.5 MB", "7.3 GB"]

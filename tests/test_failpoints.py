"""Failpoints act once, at the passing they name."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from weft import failpoints
from weft.errors import UsageError


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    failpoints.arm("")


def test_a_point_fails_at_the_named_passing_only() -> None:
    failpoints.arm("here:3:error")
    failpoints.point("here")
    failpoints.point("elsewhere")
    failpoints.point("here")
    with pytest.raises(failpoints.InjectedError, match="here"):
        failpoints.point("here")
    failpoints.point("here")


def test_several_points_can_be_armed() -> None:
    failpoints.arm("one:1:error,two:1:enospc")
    with pytest.raises(OSError, match="No space left") as caught:
        failpoints.point("two")
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(failpoints.InjectedError):
        failpoints.point("one")


def test_sleep_takes_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    failpoints.arm("one:1:sleep=0.25,two:1:sleep")
    failpoints.point("one")
    failpoints.point("two")
    assert slept == [0.25, 5.0]


def test_a_stopped_process_goes_on_when_it_is_told_to() -> None:
    code = "from weft import failpoints; failpoints.arm('here:1:stop'); failpoints.point('here'); print('on')"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    assert process.communicate()[0] == "on\n"


@pytest.mark.parametrize("text", ["x", "x:1", "x:0:kill", "x:-1:kill", ":1:kill", "x:1:explode", "x:1:sleep=long"])
def test_what_is_no_failpoint_is_refused_and_the_old_ones_stay(text: str) -> None:
    failpoints.arm("here:1:error")
    with pytest.raises(UsageError, match="expected name:n:kill"):
        failpoints.arm(text)
    with pytest.raises(failpoints.InjectedError):
        failpoints.point("here")

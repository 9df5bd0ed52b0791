"""Stopping a role: in order, at once, by force, and when its supervisor is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from weft.errors import LeaseLost, StoreError
from weft.roles.stop import StopRequest, first_of
from weft.roles.supervisor_pipe import SUPERVISOR_FD, SupervisorPipe, watch_supervisor

PATIENCE = 30.0

ROLE = """
import asyncio, logging, sys, time
from weft.roles import stop as stopping
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
stopping.ORPHAN_SECONDS, stopping.FORCE_SECONDS = {orphan}, {force}

async def work(stop):
    print("ready", flush=True)
    await stop.asked.wait()
    print("asked", flush=True)
    {then}

stopping.run_role(work)
print("left", flush=True)
"""


def start(then: str, *, orphan: float = 60, force: float = 60, pipe: SupervisorPipe | None = None) -> subprocess.Popen:
    """A role that does `then` when it is asked to stop."""
    clean = {name: value for name, value in os.environ.items() if name != SUPERVISOR_FD}
    process = subprocess.Popen(
        [sys.executable, "-c", ROLE.format(then=then, orphan=orphan, force=force)],
        stdout=subprocess.PIPE,
        text=True,
        env={**clean, **(pipe.environment if pipe else {})},
        pass_fds=[pipe.reading] if pipe else [],
    )
    wait_for_line(process, "ready")
    return process


def wait_for_line(process: subprocess.Popen, wanted: str) -> None:
    for line in process.stdout:
        if line.strip() == wanted:
            return
    raise AssertionError(f"ended without {wanted!r}")


def ended(process: subprocess.Popen) -> tuple[int, str]:
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_in_order(number):
    process = start("pass")
    process.send_signal(number)
    code, output = ended(process)
    assert (code, "left" in output) == (0, True)


def test_a_second_signal_stops_at_once():
    process = start("await stop.at_once.wait()")
    process.terminate()
    wait_for_line(process, "asked")
    process.terminate()
    code, output = ended(process)
    assert code == 0
    assert "stopping at once (SIGTERM)" in output


def test_a_role_that_does_not_stop_at_once_is_ended_by_force():
    process = start("await asyncio.sleep(1000)", force=0.1)
    process.terminate()
    wait_for_line(process, "asked")
    process.terminate()
    code, output = ended(process)
    assert code == 1
    assert "ending its process" in output


@pytest.mark.parametrize(
    ("then", "code"),
    [("pass", 0), ("await stop.at_once.wait()", 0), ("await asyncio.sleep(1000)", 1), ("time.sleep(1000)", 1)],
    ids=["in order", "at once", "by force", "by force though its loop hangs"],
)
def test_a_role_without_its_supervisor_ends(then, code):
    pipe = SupervisorPipe()
    process = start(then, orphan=0.2, force=0.2, pipe=pipe)
    assert process.poll() is None
    pipe.close()
    assert ended(process)[0] == code


def test_a_role_run_by_hand_is_not_affected():
    process = start("pass")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.terminate()
    assert ended(process)[0] == 0


@pytest.mark.parametrize("named", ["none", "987654"])
def test_a_descriptor_that_is_none_is_not_taken_for_a_dead_supervisor(named, caplog):
    environment, gone = {SUPERVISOR_FD: named}, threading.Event()
    watch_supervisor(environment, gone.set)
    assert "supervisor not watched" in caplog.text
    assert not environment
    assert not gone.wait(0.1)


def test_processes_that_a_role_starts_are_not_told_of_its_supervisor():
    pipe = SupervisorPipe()
    environment, gone = dict(pipe.environment), threading.Event()
    watch_supervisor(environment, gone.set)
    assert not environment
    assert not os.get_inheritable(pipe.reading)
    os.close(pipe._writing)
    assert gone.wait(PATIENCE)
    os.close(pipe.reading)


def test_the_supervisors_end_dies_with_it_alone(tmp_path: Path):
    """A process that the supervisor starts without our help must not hold the pipe open."""
    pipe, gone = SupervisorPipe(), threading.Event()
    watch_supervisor(dict(pipe.environment), gone.set)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        os.close(pipe._writing)
        assert gone.wait(PATIENCE)
    finally:
        other.communicate(b"\n")
    os.close(pipe.reading)


def test_first_of_raises_what_cannot_be_mended_rather_than_a_lost_lease():
    async def fail(error: Exception) -> None:
        raise error

    async def group(*errors: Exception) -> None:
        async with asyncio.TaskGroup() as tasks:
            for error in errors:
                tasks.create_task(fail(error))

    async def story(*errors: Exception) -> None:
        await first_of(asyncio.create_task(group(*errors)), asyncio.sleep(PATIENCE))

    with pytest.raises(LeaseLost):
        asyncio.run(story(LeaseLost("a:1", 1)))
    with pytest.raises(StoreError):
        asyncio.run(story(LeaseLost("a:1", 1), StoreError("store", "full")))


def test_first_of_ends_with_any_of_the_others_and_passes_on_their_errors():
    async def refuse() -> None:
        raise StoreError("store", "full")

    async def story(other) -> bool:
        stop = StopRequest()
        work: asyncio.Task[None] = asyncio.create_task(asyncio.sleep(PATIENCE))
        began = time.monotonic()
        try:
            await first_of(work, stop.asked.wait(), other)
        finally:
            work.cancel()
        return time.monotonic() - began < PATIENCE / 2

    assert asyncio.run(story(asyncio.sleep(0)))
    with pytest.raises(StoreError):
        asyncio.run(story(refuse()))

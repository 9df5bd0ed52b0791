"""Calls that block: in order, off the loop, repeated only while the control plane is unavailable."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from weft.errors import LeaseLost, MgmtUnavailable, TransitionRefused
from weft.mgmt.memory import MemoryMgmt
from weft.roles import calls
from weft.roles.calls import CallThread, ControlPlane


def test_calls_are_made_in_order_and_their_errors_come_back():
    async def story() -> None:
        made: list[int] = []
        thread = CallThread("test")
        await asyncio.gather(*(thread.do(partial(made.append, n)) for n in range(100)))
        assert made == list(range(100))
        with pytest.raises(ValueError, match="no number"):
            await thread.do(lambda: int("no number"))
        thread.stop()

    asyncio.run(story())


def test_finish_waits_for_a_call_that_was_cancelled():
    async def story() -> None:
        thread, has_begun, may_end, ended = CallThread("test"), threading.Event(), threading.Event(), []

        def call() -> None:
            has_begun.set()
            assert may_end.wait(10)
            ended.append(True)

        waiting = asyncio.create_task(thread.do(call))
        await asyncio.to_thread(has_begun.wait)
        waiting.cancel()
        finishing = asyncio.create_task(thread.finish())
        await asyncio.sleep(0)
        assert not finishing.done()
        may_end.set()
        await finishing
        assert ended
        thread.stop()

    asyncio.run(story())


def test_a_thread_that_hangs_does_not_keep_the_process():
    async def story() -> CallThread:
        thread = CallThread("test-hanging")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(thread.do(threading.Event().wait), 0.05)
        return thread

    asyncio.run(story())
    (hanging,) = [thread for thread in threading.enumerate() if thread.name == "test-hanging"]
    assert hanging.daemon


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(calls, "_FIRST_WAIT", 0.001)


def outcomes(*errors: Exception):
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return call


def made(call, method: str = "call"):
    async def story():
        control = ControlPlane(MemoryMgmt())
        try:
            return await getattr(control, method)("claim", call)
        finally:
            control.close()

    return asyncio.run(story())


def test_an_unavailable_control_plane_is_asked_again_and_two_lines_are_logged(quick, caplog):
    away = [MgmtUnavailable("database: away")] * 4
    assert made(outcomes(*away)) == "answer"
    first, last = [record.getMessage() for record in caplog.records]
    assert first == "control plane unavailable, repeating call=claim for=0s reason=database: away"
    assert last.startswith("control plane available again call=claim after=")


def test_a_long_outage_is_logged_again_now_and_then(quick, caplog, monkeypatch):
    monkeypatch.setattr(calls, "_LOG_EVERY", 0.0)
    made(outcomes(*[MgmtUnavailable("away")] * 3))
    assert caplog.text.count("repeating call=claim") == 3


@pytest.mark.parametrize("error", [LeaseLost("a:1", 1), TransitionRefused("no"), ValueError("a driver's own")])
def test_every_other_error_is_the_callers(quick, error):
    with pytest.raises(type(error)):
        made(outcomes(MgmtUnavailable("away"), error))


def test_a_refusal_that_a_role_can_do_without_is_logged(caplog):
    assert made(outcomes(TransitionRefused("link 1: no")), "call_or_log") is None
    assert "control plane refused call=claim reason=link 1: no" in caplog.text
    with pytest.raises(LeaseLost):
        made(outcomes(LeaseLost("a:1", 1)), "call_or_log")

"""Blocking calls from an event loop: in a thread of their own, and repeated while the control plane is unavailable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Generic, TypeVar

from weft.errors import LeaseLost, MgmtError, MgmtUnavailable
from weft.mgmt.api import NodeCalls

log = logging.getLogger(__name__)

T = TypeVar("T")
Calls_co = TypeVar("Calls_co", bound=NodeCalls, covariant=True)
"""The calls that the role makes: UrlServerCalls, SpiderCalls, …"""
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]

_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0
_LOG_EVERY: Final = 60.0
"""Seconds between two lines about one call that is still being repeated."""


class CallThread:
    """Runs calls one after the other, in the order in which they were made; with `threads`, so many at a time.

    Unlike an executor's, its threads do not keep the process alive when they hang in a call.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = threads
        for _ in range(threads):
            Thread(target=self._work, name=name, daemon=True).start()

    async def do(self, call: Callable[[], T]) -> T:
        """Cancelling this does not stop a call that has begun."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((call, future))
        return await future

    async def finish(self) -> None:
        """Wait for every call made so far, cancelled ones too; not with several threads."""
        await self.do(lambda: None)

    def stop(self) -> None:
        """Let the threads end after the calls they were given."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, future = job
            try:
                answer = call()
            except Exception as error:
                self._pass_on(future, error=error)
            else:
                self._pass_on(future, answer)

    def _pass_on(self, future: asyncio.Future[Any], answer: object = None, error: Exception | None = None) -> None:
        # The loop may be closed by now: then nobody waits.
        with suppress(RuntimeError):
            future.get_loop().call_soon_threadsafe(_settle, future, answer, error)


def _settle(future: asyncio.Future[Any], answer: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)


async def until_available(what: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeat `attempt` while it raises MgmtUnavailable; every other error is the caller's."""
    began, wait, logged_at = time.monotonic(), _FIRST_WAIT, -_LOG_EVERY
    while True:
        try:
            answer = await attempt()
        except MgmtUnavailable as error:
            seconds = time.monotonic() - began
            if seconds - logged_at >= _LOG_EVERY:
                logged_at = seconds
                log.warning("control plane unavailable, repeating call=%s for=%.0fs reason=%s", what, seconds, error)
        else:
            if logged_at >= 0:
                log.warning("control plane available again call=%s after=%.1fs", what, time.monotonic() - began)
            return answer
        await asyncio.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT)


class CallTally:
    """How often each call was made since the process started, and how long its callers waited."""

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def add(self, what: str, seconds: float) -> None:
        self._calls[what] = self._calls.get(what, 0) + 1
        self._seconds[what] = self._seconds.get(what, 0.0) + seconds

    def facts(self) -> dict[str, dict[str, float]]:
        return {
            "calls": dict(self._calls),
            "seconds": {what: round(seconds, 3) for what, seconds in self._seconds.items()},
        }


class ControlPlane(Generic[Calls_co]):
    """The control plane as a role calls it from its event loop."""

    def __init__(self, mgmt: Calls_co, *, is_patient: bool = True) -> None:
        """Without patience a call is made once: for a role that can do without the control plane."""
        self.mgmt, self._is_patient = mgmt, is_patient
        self.tally = CallTally()
        self._thread = CallThread("weft-mgmt")

    async def call(self, what: str, call: Callable[[], T]) -> T:
        """Make the call until the control plane is available; raises LeaseLost and whatever it refuses."""
        began = time.monotonic()
        try:
            if not self._is_patient:
                return await self._thread.do(call)
            return await until_available(what, lambda: self._thread.do(call))
        finally:
            self.tally.add(what, time.monotonic() - began)

    async def call_or_log(self, what: str, call: Callable[[], T]) -> T | None:
        """Like call(), for calls that a role can do without: a refusal is logged and answered with None."""
        try:
            return await self.call(what, call)
        except LeaseLost:
            raise
        except MgmtError as error:
            log.error("control plane refused call=%s reason=%s", what, error)
            return None

    def close(self) -> None:
        self._thread.stop()

"""A thread for calls that block, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Worker:
    """Unlike an executor's, its thread does not keep the process alive when it hangs in a call."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        Thread(target=self._work, name=name, daemon=True).start()

    async def do(self, call: Callable[[], T]) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((call, future))
        return await future

    def stop(self) -> None:
        """Let the thread end after what it was given."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, future = job
            try:
                answer = call()
            except Exception as error:
                self._tell(future, error=error)
            else:
                self._tell(future, answer)

    def _tell(self, future: asyncio.Future[Any], answer: object = None, error: Exception | None = None) -> None:
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

"""Questions are answered in threads, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from weft.web.limits import WebLimits
from weft.web.problems import RequestRefused

Answer = TypeVar("Answer")


class _Question(NamedTuple):
    ask: Callable[[], Any]
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class AnswerThreads:
    """Threads of our own: one that takes too long cannot be stopped, so it must go on to count, and must not keep the
    process from ending. The threads of asyncio and anyio do one or the other."""

    def __init__(self, limits: WebLimits) -> None:
        self._limits = limits
        self._questions: SimpleQueue[_Question] = SimpleQueue()
        self._waiting = 0
        self._threads: list[Thread] = []

    async def run(self, ask: Callable[..., Answer], *arguments: object) -> Answer:
        """Raises RequestRefused (503) when too many wait already, or when it takes too long."""
        if self._waiting >= self._limits.threads + self._limits.waiting:
            raise RequestRefused(503, "too many requests wait for an answer; ask again", {"Retry-After": "1"})
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting += 1
        self._questions.put(_Question(partial(ask, *arguments), answer, loop))
        self._start_threads()
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                return await answer
        except TimeoutError:
            seconds = f"{self._limits.answer_seconds:g}"
            raise RequestRefused(503, f"no answer within {seconds} s", {"Retry-After": "5"}) from None
        finally:
            self._waiting -= 1

    def _start_threads(self) -> None:
        if len(self._threads) < min(self._limits.threads, self._waiting):
            self._threads.append(Thread(target=self._work, name="weft-answer", daemon=True))
            self._threads[-1].start()

    def _work(self) -> None:
        while True:
            question = self._questions.get()
            if question.answer.cancelled():
                continue  # nobody waits for it any more
            try:
                tell = partial(_tell, question.answer, question.ask())
            except Exception as error:
                tell = partial(_fail, question.answer, error)
            with suppress(RuntimeError):  # the loop is closed: the app has stopped meanwhile
                question.loop.call_soon_threadsafe(tell)


def _tell(answer: asyncio.Future[Any], found: object) -> None:
    if not answer.done():
        answer.set_result(found)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)

"""Questions are answered in threads, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Condition, Thread
from typing import Any, NamedTuple, TypeVar

from weft.answers.budget import Budget
from weft.web.limits import WebLimits
from weft.web.problems import RequestRefused

Answer = TypeVar("Answer")


class _Question(NamedTuple):
    ask: Callable[[], Any]
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class AnswerThreads:
    """Threads of our own: one that takes too long cannot be stopped, so it must go on to count, and must not keep the
    process from ending. The threads of asyncio and anyio do one or the other.

    Heavy questions have threads and a queue for themselves: however many of them wait, light ones do not wait for them.
    """

    def __init__(self, limits: WebLimits) -> None:
        self._limits = limits
        self._light = _Lane(limits.threads, limits.waiting)
        self._heavy = _Lane(limits.heavy_threads, limits.waiting)

    async def run(
        self,
        ask: Callable[..., Answer],
        *arguments: object,
        budget: Budget | None = None,
        client: str = "",
        is_heavy: bool = False,
    ) -> Answer:
        """Raises RequestRefused (503) when too many wait already, or when it takes too long; then its budget ends.

        Those who wait are taken in turns, one question of each client.
        """
        lane = self._heavy if is_heavy else self._light
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        question = _Question(partial(ask, *arguments), answer, loop)
        lane.put(client, question)
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                return await answer
        except TimeoutError:
            seconds = f"{self._limits.answer_seconds:g}"
            raise RequestRefused(503, f"no answer within {seconds} s", {"Retry-After": "5"}) from None
        finally:
            lane.ended(client, question)
            if budget is not None:
                budget.end()  # nobody waits for it any more


class _Lane:
    """`put` and `ended` are for the thread of the event loop alone."""

    def __init__(self, threads: int, waiting: int) -> None:
        self._most_threads, self._most = threads, threads + waiting
        self._most_of_client = threads + waiting // 2
        self._unanswered: Counter[str] = Counter()
        self._threads: list[Thread] = []
        self._queues: OrderedDict[str, deque[_Question]] = OrderedDict()
        """Of each client, those that no thread has begun; the client whose turn it is comes first."""
        self._changed = Condition()

    def put(self, client: str, question: _Question) -> None:
        if self._unanswered.total() >= self._most:
            raise RequestRefused(503, "too many requests wait for an answer; ask again", {"Retry-After": "1"})
        if client and self._unanswered[client] >= self._most_of_client:
            raise RequestRefused(503, "too many requests of yours wait for an answer; ask again", {"Retry-After": "1"})
        self._unanswered[client] += 1
        with self._changed:
            self._queues.setdefault(client, deque()).append(question)
            self._changed.notify()
        if len(self._threads) < min(self._most_threads, self._unanswered.total()):
            self._threads.append(Thread(target=self._work, name="weft-answer", daemon=True))
            self._threads[-1].start()

    def ended(self, client: str, question: _Question) -> None:
        """Answered, or given up: then no thread begins it."""
        self._unanswered[client] -= 1
        if not self._unanswered[client]:
            del self._unanswered[client]
        with self._changed:
            queue = self._queues.get(client)
            if queue is not None and question in queue:
                queue.remove(question)
                if not queue:
                    del self._queues[client]

    def _work(self) -> None:
        while True:
            question = self._next()
            try:
                tell = partial(_tell, question.answer, question.ask())
            except Exception as error:
                tell = partial(_fail, question.answer, error)
            with suppress(RuntimeError):  # the loop is closed: the app has stopped meanwhile
                question.loop.call_soon_threadsafe(tell)

    def _next(self) -> _Question:
        with self._changed:
            while not self._queues:
                self._changed.wait()
            client, queue = self._queues.popitem(last=False)
            question = queue.popleft()
            if queue:
                self._queues[client] = queue
            return question


def _tell(answer: asyncio.Future[Any], found: object) -> None:
    if not answer.done():
        answer.set_result(found)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)

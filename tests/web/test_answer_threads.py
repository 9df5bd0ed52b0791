"""Threads that answer: bounded, also when answers hang, and in no way of the process's end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.web_app import PATIENCE, Answer, RunningApp, running_app
from weft.answers.budget import AnswerLate, Budget
from weft.errors import UsageError
from weft.web.limits import WebLimits
from weft.web.problems import RequestRefused
from weft.web.threads import AnswerThreads

FEW = WebLimits(threads=2, waiting=3, answer_seconds=0.2)


def test_answers_and_errors_come_back() -> None:
    async def ask() -> None:
        threads = AnswerThreads(WebLimits())
        assert await threads.run(lambda a, b: a + b, 1, 2) == 3
        assert await asyncio.gather(*(threads.run(int, n) for n in range(50))) == list(range(50))
        with pytest.raises(UsageError, match="no"):
            await threads.run(_raise)

    asyncio.run(ask())


def _raise() -> None:
    raise UsageError("no")


def test_questions_that_hang_hold_their_threads_and_no_more() -> None:
    may_end = threading.Event()
    running: list[int] = []

    def hang() -> None:
        running.append(1)
        may_end.wait(PATIENCE)

    async def ask() -> None:
        threads = AnswerThreads(FEW)
        for _ in range(3):  # after each of them was given up, its thread still counts
            found = await asyncio.gather(*(threads.run(hang) for _ in range(9)), return_exceptions=True)
            assert [type(each) for each in found] == [RequestRefused] * 9
            sentences = [str(each) for each in found]
            assert sum("within 0.2 s" in each for each in sentences) == 5
            assert sum("too many" in each for each in sentences) == 4
        assert len(running) == 2
        may_end.set()
        assert await threads.run(lambda: "again") == "again"
        assert len(running) == 2, "what nobody waits for any more is not begun"

    asyncio.run(ask())


def test_a_thread_that_hangs_does_not_keep_the_process() -> None:
    code = """
import asyncio, time
from weft.web.limits import WebLimits
from weft.web.threads import AnswerThreads
async def main():
    try:
        await AnswerThreads(WebLimits(answer_seconds=0.1)).run(time.sleep, 1000)
    except Exception as error:
        print(error)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no answer within 0.1 s\n", "")


@contextmanager
def hanging(app: RunningApp) -> Iterator[None]:
    """Every question about the index hangs."""
    may_end = threading.Event()
    real = app.web.index.borrowed

    @contextmanager
    def borrowed() -> Iterator[object]:
        may_end.wait(PATIENCE)
        with real() as index:
            yield index

    app.web.index.borrowed = borrowed  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        may_end.set()
        app.web.index.borrowed = real  # type: ignore[method-assign]


def test_more_requests_than_threads_are_answered_with_503_and_the_app_lives_on(small_home: Path) -> None:
    answers: list[Answer] = []
    with running_app(small_home, limits=FEW) as app:
        with hanging(app):
            threads = [threading.Thread(target=lambda: answers.append(app.ask("/api/totals"))) for _ in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            assert [each.status for each in answers] == [503] * 12
            assert all(int(each.headers["retry-after"]) > 0 for each in answers)
            assert app.ask("/healthz").status == 200, "what needs no thread is answered"
        assert app.ask("/api/totals").status == 200


def test_heavy_questions_that_hang_leave_the_light_ones_alone() -> None:
    may_end = threading.Event()

    async def ask() -> None:
        threads = AnswerThreads(WebLimits(threads=1, heavy_threads=1, waiting=20))
        heavy = [asyncio.ensure_future(threads.run(may_end.wait, PATIENCE, is_heavy=True)) for _ in range(20)]
        await asyncio.sleep(0)
        for number in range(50):
            assert await threads.run(lambda each: each, number) == number
        assert not any(each.done() for each in heavy)
        may_end.set()
        assert await asyncio.gather(*heavy) == [True] * 20

    asyncio.run(ask())


def test_clients_take_turns() -> None:
    may_begin, order = threading.Event(), list[str]()

    async def ask() -> None:
        threads = AnswerThreads(WebLimits(heavy_threads=1, waiting=20))
        first = asyncio.ensure_future(threads.run(may_begin.wait, PATIENCE, client="greedy", is_heavy=True))
        names = ["greedy"] * 8 + ["one", "other", "one"]
        runs = [asyncio.ensure_future(threads.run(order.append, name, client=name, is_heavy=True)) for name in names]
        await asyncio.sleep(0)
        may_begin.set()
        await asyncio.gather(first, *runs)

    asyncio.run(ask())
    assert order[:6].count("one") == 2
    assert order[:4].count("other") == 1


def test_one_client_does_not_fill_the_queue() -> None:
    may_end = threading.Event()

    async def ask() -> None:
        threads = AnswerThreads(WebLimits(heavy_threads=1, waiting=20))
        runs = [
            asyncio.ensure_future(threads.run(may_end.wait, PATIENCE, client="greedy", is_heavy=True))
            for _ in range(40)
        ]
        await asyncio.sleep(0)
        assert sum(each.done() for each in runs) == 29
        assert all("of yours" in str(each.exception()) for each in runs if each.done())
        other = asyncio.ensure_future(threads.run(lambda: "served", client="other", is_heavy=True))
        may_end.set()
        assert await other == "served"
        await asyncio.gather(*runs, return_exceptions=True)

    asyncio.run(ask())


def test_the_budget_of_an_answer_that_is_late_ends() -> None:
    budget, ended = Budget(sys.maxsize), threading.Event()

    def count() -> None:
        try:
            while True:
                budget.spend(1)
        except AnswerLate:
            ended.set()

    async def ask() -> None:
        with pytest.raises(RequestRefused, match=r"within 0\.2 s"):
            await AnswerThreads(FEW).run(count, budget=budget)

    asyncio.run(ask())
    assert ended.wait(PATIENCE), "its thread is free again"

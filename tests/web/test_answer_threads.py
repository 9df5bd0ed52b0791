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

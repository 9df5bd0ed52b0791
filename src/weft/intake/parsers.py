"""Where a task is parsed: by workers, or here while an import is too small for them to be worth their start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from weft.config import Settings
from weft.intake.messages import WorkerSettings, decode_answer, encode
from weft.intake.parsing import Found, Parser, Task
from weft.intake.workers.child import Orders
from weft.intake.workers.pool import Language, Pending, Workers, processors
from weft.model.url import UrlRules
from weft.reading.settings import ReadingSettings

_PARSED_HERE: Final = 4 << 20
"""Bytes of lines that are parsed in less time than a worker takes to start."""

LANGUAGE: Final = Language[Task, Found](encode, decode_answer, lambda refused: refused)


def orders_for(reading: ReadingSettings, seconds: float, memory: int) -> Orders:
    """Workers that give a page so much processor time and memory."""
    return Orders("weft.intake.worker", encode(WorkerSettings(reading, seconds, memory, os.getpid())), seconds)


class Answered:
    """A task whose answer is there."""

    def __init__(self, answer: list[Found]) -> None:
        self._answer = answer

    def take(self) -> list[Found]:
        return self._answer

    def drop(self) -> None:
        pass


class EarlyHere:
    """Parses the first lines of an import here and the rest by workers; records, which may be hostile, only there."""

    def __init__(self, parser: Parser, workers: Workers[Task, Found]) -> None:
        self._parser, self._workers = parser, workers
        self._left = _PARSED_HERE

    def give(self, task: Task) -> Answered | Pending[Found]:
        if not len(task):
            return Answered([])
        if task.records or self._left <= 0:
            return self._workers.give(task)
        self._left -= sum(len(line or b"") for line in task.lines)
        return Answered(self._parser.answer(task))


@contextmanager
def parsers(settings: Settings, rules: UrlRules, workers: int | None = None) -> Iterator[EarlyHere]:
    """What an import parses with; so many workers, or one less than there are processors."""
    limits = settings.limits
    reading = ReadingSettings.from_settings(settings, rules)
    orders = orders_for(reading, limits.parse_seconds, limits.parse_bytes)
    with Workers(workers or max(1, processors() - 1), orders, LANGUAGE) as started:
        yield EarlyHere(Parser(reading), started)

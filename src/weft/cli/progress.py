"""Progress of long work: a bar with rate and time left on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Self

from weft.cli.output import say
from weft.model.shown_text import shown_text

LINE_EVERY = 10.0
"""Seconds between two lines without a terminal."""


class Progress:
    """Follows an import by the bytes that it has read; all output goes to standard error."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._bar: Any = None
        self._task: Any = None
        self._began = self._told = time.monotonic()
        self._skipped: int | None = None
        """Bytes that an interrupted import had read before; they say nothing about today's speed."""

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("importing", total=self._total)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def following(self, done: int) -> Callable[[Any, Any, int], None]:
        """A watcher of one source, when sources of `done` bytes came before it."""
        return lambda report, _, bytes_read: self._move(report, done + bytes_read)

    def _move(self, report: Any, bytes_read: int) -> None:
        now = time.monotonic()
        if self._skipped is None:
            self._skipped = bytes_read
        rate = report.pages / max(now - self._began, 0.001)
        text = f"{report.pages:,} pages, {rate:,.0f}/s"
        if self._bar is not None:
            self._bar.update(self._task, completed=bytes_read, description=text)
        elif now - self._told >= LINE_EVERY:
            self._told = now
            self.say(f"{text}{self._left(now, bytes_read)}")

    def _left(self, now: float, bytes_read: int) -> str:
        if not self._total or not bytes_read:
            return ""
        done = f", {bytes_read / 1e6:,.1f} of {self._total / 1e6:,.1f} MB"
        read_now = bytes_read - (self._skipped or 0)
        if read_now <= 0:
            return done
        seconds = (now - self._began) * (self._total - bytes_read) / read_now
        return f"{done}, about {seconds:.0f} s left"

    def say(self, sentence: str) -> None:
        """A line that does not disturb the bar."""
        if self._bar is not None:
            self._bar.console.print(shown_text(sentence), markup=False, highlight=False)
        else:
            say(sentence, err=True)


def lines_now_and_then() -> Callable[[str, int], None]:
    """A watcher of long work of unknown length: prints a count every few seconds."""
    told = time.monotonic()

    def tell(what: str, number: int) -> None:
        nonlocal told
        if time.monotonic() - told >= LINE_EVERY:
            told = time.monotonic()
            say(f"{number:,} {what} so far", err=True)

    return tell

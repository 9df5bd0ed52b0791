"""Progress of an export: rows, rows a second, and the time left where the number of rows is known."""

from __future__ import annotations

import sys
import time
from typing import Self

from weft.cli.progress import LINE_EVERY, Progress


class ExportProgress(Progress):
    """A bar on a terminal, a line now and then elsewhere; all output goes to standard error."""

    def __init__(self, what: str) -> None:
        super().__init__(None)
        self._what = what

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(f"exporting {self._what}", total=None)
            self._bar.start()
        return self

    def move(self, rows: int, done: int, total: int | None) -> None:
        """`rows` are written; `done` of `total` were looked at."""
        now = time.monotonic()
        text = f"{rows:,} {self._what}, {rows / max(now - self._began, 0.001):,.0f}/s"
        self._total = total
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=text)
        elif now - self._told >= LINE_EVERY:
            self._told = now
            self.say(f"{text}{self._left(now, done)}")

    def _left(self, now: float, done: int) -> str:
        if not self._total or not done:
            return ""
        seconds = (now - self._began) * (self._total - done) / done
        return f", {done / self._total:.0%}, about {seconds:.0f} s left"

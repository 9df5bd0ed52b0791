"""A crawl as it runs: a live table on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from typing import IO, TYPE_CHECKING, Protocol, Self

import click

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from weft.supervisor.progress import Progress

_LINE_EVERY = 5.0


class View(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def say(self, sentence: str) -> None: ...
    def show(self) -> None: ...


def view_for(stream: IO[str], progress: Progress, pages: int | None, seconds: float | None) -> View:
    if stream.isatty():
        return LiveView(progress, pages, seconds)
    return LineView(progress)


class LineView:
    """For pipes and logs."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._shown = progress, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, sentence: str) -> None:
        click.echo(f"weft: {sentence}", err=True)

    def show(self) -> None:
        if time.monotonic() - self._shown >= _LINE_EVERY:
            self._shown = time.monotonic()
            click.echo("  ".join(f"{name} {value}" for name, value in _facts(self._progress)))


class LiveView:
    """For people."""

    def __init__(self, progress: Progress, pages: int | None, seconds: float | None) -> None:
        self._progress, self._pages, self._seconds = progress, pages, seconds
        self._said: list[str] = []
        self._live: Live

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(self._table(), refresh_per_second=4, transient=True)
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def say(self, sentence: str) -> None:
        self._said = [*self._said[-4:], sentence]

    def show(self) -> None:
        self._live.update(self._table())

    def _table(self) -> Table:
        from rich.table import Table

        table = Table(title="weft crawls", show_header=False, title_justify="left", box=None, pad_edge=False)
        table.add_column(style="bold")
        table.add_column()
        for name, value in _facts(self._progress):
            table.add_row(name, value)
        if left := self._time_left():
            table.add_row("left", left)
        for sentence in self._said:
            table.add_row("", sentence, style="yellow")
        return table

    def _time_left(self) -> str:
        if self._seconds is not None:
            return f"{max(0.0, self._seconds - self._progress.seconds):.0f} s"
        if self._pages is not None and self._progress.rate > 0:
            return f"about {max(0, self._pages - self._progress.total('pages')) / self._progress.rate:.0f} s"
        return ""


def _facts(progress: Progress) -> list[tuple[str, str]]:
    facts = [("pages", f"{progress.total('pages')} ({progress.rate:.1f}/s, {progress.seconds:.0f} s)")]
    counts = progress.counts
    if counts is not None:
        facts.append(("links", _counted(counts.links)))
        facts.append(("chunks", _counted(counts.chunks)))
        if counts.errors:
            facts.append(("errors", _counted(counts.errors)))
    fresh = progress.index.get("freshness") or {}
    if fresh.get("p50") is not None:
        facts.append(("fresh", f"{fresh['p50']:.1f} s, p99 {fresh['p99']:.1f} s"))
    facts.append(("disk", f"{progress.free_bytes / 2**30:.1f} GB free"))
    return facts


def _counted(numbers: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in numbers.items() if number) or "none"

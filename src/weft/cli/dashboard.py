"""A running crawl: a live table on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Protocol, Self

from weft.cli.crawl_facts import Goal, facts_of, in_one_line
from weft.cli.output import say
from weft.model.shown_text import shown_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from weft.answers.crawl_progress import CrawlProgress

_LINE_EVERY = 5.0
_BARS = "▁▂▃▄▅▆▇█"
_SENTENCES = 5


class CrawlView(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def say(self, sentence: str) -> None: ...
    def announce(self, words: str) -> None:
        """Say something that stays on the screen."""

    def show(self) -> None: ...


def view_for(stream: IO[str], progress: CrawlProgress, goal: Goal, *, as_json: bool = False) -> CrawlView:
    if as_json:
        from weft.cli.crawl_json import JsonView

        return JsonView(progress)
    if stream.isatty():
        return LiveView(progress, goal)
    return LineView(progress, goal)


class LineView:
    """For pipes and logs."""

    def __init__(self, progress: CrawlProgress, goal: Goal) -> None:
        self._progress, self._goal, self._shown = progress, goal, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, sentence: str) -> None:
        say(f"weft: {sentence}", err=True)

    def announce(self, words: str) -> None:
        say(words, err=True)

    def show(self) -> None:
        if time.monotonic() - self._shown >= _LINE_EVERY:
            self._shown = time.monotonic()
            say(in_one_line(self._progress, self._goal))


class LiveView:
    """For people. Redrawn only by `show`."""

    def __init__(self, progress: CrawlProgress, goal: Goal, console: Console | None = None) -> None:
        self._progress, self._goal, self._console = progress, goal, console
        self._said: list[str] = []
        self._live: Live

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(self.drawn(), console=self._console, auto_refresh=False, transient=True)
        self._live.start(refresh=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def say(self, sentence: str) -> None:
        self._said = [*self._said[1 - _SENTENCES :], f"{time.strftime('%H:%M:%S')} {sentence}"]

    def announce(self, words: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(words), soft_wrap=True)

    def show(self) -> None:
        self._live.update(self.drawn(), refresh=True)

    def drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        for fact in facts_of(self._progress, self._goal):
            table.add_row(fact.name, Text(shown_text(fact.value), style="bold red" if fact.is_bad else ""))
        said = [Text(shown_text(sentence), style="yellow") for sentence in self._said]
        return Group(self._heading(), table, *said)

    def _heading(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        heading = Table.grid(padding=(0, 2, 0, 0))
        parts: list[RenderableType] = [
            Text("weft crawl", style="bold"),
            Text(sparkline(self._progress.rates), "green"),
        ]
        share = self._goal.share_done(self._progress)
        if share is not None:
            parts.append(ProgressBar(total=1.0, completed=share, width=30))
        heading.add_row(*parts)
        return heading


def sparkline(values: Sequence[float], width: int = 30) -> str:
    """The last values as a row of bars; the highest value gets the full height."""
    shown = list(values)[-width:]
    highest = max(shown, default=0.0)
    if highest <= 0:
        return ""
    return "".join(_BARS[min(len(_BARS) - 1, int(value / highest * len(_BARS)))] for value in shown)

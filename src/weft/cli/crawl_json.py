"""A crawl for programs: one JSON object a line. Fields are documented in docs/commands.md; more may be added."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from weft.cli.output import say_json

if TYPE_CHECKING:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.answers.crawl_summary import CrawlSummary

_LINE_EVERY: Final = 1.0


class JsonView:
    """Prints progress every second, and what would be said to people."""

    def __init__(self, progress: CrawlProgress) -> None:
        self._progress, self._shown = progress, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, sentence: str) -> None:
        _say_event("message", {"text": sentence})

    def announce(self, words: str) -> None:
        self.say(words)

    def show(self) -> None:
        if time.monotonic() - self._shown >= _LINE_EVERY:
            self._shown = time.monotonic()
            _say_event("progress", progress_object(self._progress))


def progress_object(progress: CrawlProgress) -> dict[str, Any]:
    counts, fresh = progress.counts, progress.index.get("freshness") or {}
    return {
        "seconds": round(progress.seconds, 3),
        "pages": progress.total("pages"),
        "pages_per_second": round(progress.rate, 3),
        "discovered": progress.total("discovered"),
        "waiting": progress.waiting,
        "links": dict(counts.links) if counts else {},
        "errors": dict(counts.errors) if counts else {},
        "refused": progress.refused(),
        "queued": progress.urlserver.get("queued", 0),
        "freshness": fresh.get("p50"),
        "disk_is_low": progress.disk.is_low,
    }


def say_summary(summary: CrawlSummary) -> None:
    _say_event("summary", msgspec.to_builtins(summary))


def _say_event(event: str, fields: dict[str, Any]) -> None:
    say_json(msgspec.json.encode({"event": event, **fields}))

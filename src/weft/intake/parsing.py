"""A group of lines or records becomes pages: what parse workers do, and a small import does by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from weft.config.crawl_sections import LimitsSettings
from weft.intake.jsonl import JsonPages
from weft.intake.records import PageRefused, Reason, Record, Refused
from weft.linkindex.loaded import LoadedPage
from weft.model.url import UrlRules

Found = LoadedPage | Refused | str
"""What a line or record gave: a page, why there is none, or what it is if it says nothing of one."""

Given = TypeVar("Given")


class ParserSettings(msgspec.Struct, frozen=True):
    """All that parsing depends on, in a form that can be sent to another process."""

    strip: tuple[str, ...]
    max_length: int
    limits: LimitsSettings
    max_body: int
    product: str


class Task(msgspec.Struct, frozen=True, array_like=True):
    """Lines or records that follow each other in one source."""

    now_ms: int
    """The time of pages that have none of their own."""
    lines: list[bytes | None] = []
    """None stands for a line that is too long."""
    records: list[Record] = []

    def __len__(self) -> int:
        return len(self.lines) + len(self.records)

    def singly(self) -> Iterator[Task]:
        """The same as tasks of one line or record each."""
        yield from (Task(self.now_ms, lines=[line]) for line in self.lines)
        yield from (Task(self.now_ms, records=[record]) for record in self.records)


class Parser:
    """Answers tasks. `before` is called before each line or record: the place to set an alarm."""

    def __init__(self, settings: ParserSettings, before: Callable[[], object] = lambda: None) -> None:
        self._settings, self._before = settings, before
        self._rules = UrlRules(settings.strip, settings.max_length)

    def answer(self, task: Task) -> list[Found]:
        """What each line or record gives, in their order."""
        found: list[Found] = []
        if task.lines:
            found += self._found(JsonPages(self._rules, self._settings.limits, task.now_ms).read, task.lines)
        if task.records:
            found += self._found(self._record_reader(task.now_ms), task.records)
        return found

    def _record_reader(self, now_ms: int) -> Callable[[Record], LoadedPage | str]:
        # A process that parses no HTML, as the one that writes the store, need not load what does.
        from weft.intake.responses import Reading, Responses
        from weft.intake.wat import read_wat

        settings = self._settings
        responses = Responses(Reading(self._rules, settings.limits, settings.max_body, settings.product, now_ms))

        def read(record: Record) -> LoadedPage | str:
            is_wat = record.kind == "metadata"
            return read_wat(responses, settings.limits, record) if is_wat else responses.read(record)

        return read

    def _found(self, read: Callable[[Given], LoadedPage | str], given: Sequence[Given]) -> Iterator[Found]:
        for item in given:
            self._before()
            try:
                yield read(item)
            except PageRefused as refused:
                yield Refused(refused.reason, refused.why)
            except MemoryError:
                yield Refused(Reason.MEMORY, "reading it takes more memory than allowed")
            except Exception as error:
                # Whatever a page makes of a parser, it is that page's matter and not the import's.
                yield Refused(Reason.CRASH, f"reading it failed: {type(error).__name__}: {error}")

"""Turns a group of lines or records into pages: in a worker process, or right here for a small import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from weft.intake.json_lines import JsonPages
from weft.intake.record_heads import ArchiveRecord
from weft.intake.skip_reasons import PageRefused, Refused, SkipReason
from weft.linkindex.loaded import LoadedPage
from weft.reading.settings import IMPORT, ReadingSettings

if TYPE_CHECKING:
    from weft.reading.http_reader import HttpReader

ParseResult = LoadedPage | Refused | str
"""What a line or record gave: a page, why there is none, or what it is if it says nothing of one."""

Given = TypeVar("Given")


class ParseTask(msgspec.Struct, frozen=True, array_like=True):
    """Lines or records that follow each other in one source."""

    now_ms: int
    """The time of pages that have none of their own."""
    lines: list[bytes | None] = []
    """None stands for a line that is too long."""
    records: list[ArchiveRecord] = []

    def __len__(self) -> int:
        return len(self.lines) + len(self.records)

    def singly(self) -> Iterator[ParseTask]:
        """The same as tasks of one line or record each."""
        yield from (ParseTask(self.now_ms, lines=[line]) for line in self.lines)
        yield from (ParseTask(self.now_ms, records=[record]) for record in self.records)


class PageParser:
    """Answers tasks. `before` is called before each line or record: the place to set an alarm."""

    def __init__(self, settings: ReadingSettings, before: Callable[[], object] = lambda: None) -> None:
        self._settings, self._before = settings, before
        self._rules = settings.url_rules()

    def answer(self, task: ParseTask) -> list[ParseResult]:
        """What each line or record gives, in their order."""
        found: list[ParseResult] = []
        if task.lines:
            found += self._found(JsonPages(self._rules, self._settings.limits, task.now_ms).read, task.lines)
        if task.records:
            found += self._found(self._record_reader(task.now_ms), task.records)
        return found

    def _record_reader(self, now_ms: int) -> Callable[[ArchiveRecord], LoadedPage | str]:
        from weft.intake.response_records import RecordReader
        from weft.intake.wat_records import read_wat

        reader = RecordReader(self._http_reader, now_ms)

        def read(record: ArchiveRecord) -> LoadedPage | str:
            return read_wat(reader, record) if record.kind == "metadata" else reader.read(record)

        return read

    @cached_property
    def _http_reader(self) -> HttpReader:
        # A process that parses no HTML, as the one that writes the store, need not load what does.
        from weft.reading.http_reader import HttpReader

        return HttpReader(self._settings, IMPORT)

    def _found(self, read: Callable[[Given], LoadedPage | str], given: Sequence[Given]) -> Iterator[ParseResult]:
        for item in given:
            self._before()
            try:
                yield read(item)
            except PageRefused as refused:
                yield Refused(refused.reason, refused.why)
            except MemoryError:
                yield Refused(SkipReason.MEMORY, "reading it takes more memory than allowed")
            except Exception as error:
                # Whatever a page makes of a parser, it is that page's matter and not the import's.
                yield Refused(SkipReason.CRASH, f"reading it failed: {type(error).__name__}: {error}")

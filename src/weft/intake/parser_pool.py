"""Where an import is parsed: by worker processes, or right here while it is too small to be worth starting them.

What is sent to the workers and what comes back is encoded here too; `parser_process` is the other end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from weft.config import Settings
from weft.intake.page_parser import PageParser, ParseResult, ParseTask
from weft.intake.skip_reasons import Refused, SkipReason
from weft.intake.workers.worker_pool import PendingAnswer, WorkerMessages, WorkerPool, processors
from weft.intake.workers.worker_process import WorkerCommand
from weft.linkindex.loaded import LoadedPage, Outlinks
from weft.linkindex.records import Version
from weft.model.url import UrlRules
from weft.reading.settings import ReadingSettings

_Columns = tuple[list[bytes], list[bytes], list[bytes], list[bool]]
_Page = tuple[int, bytes, bytes, int, bytes, bytes, bytes, _Columns, bytes, int | None]
"""Number in the task, uri, domain, fetched, content hash, cur, doc, outlinks, moved_to, since when it says the same:
tuples are read faster than objects."""
_Answer = tuple[list[_Page], list[tuple[int, SkipReason, str]], list[tuple[int, str]]]


class ParserSettings(msgspec.Struct, frozen=True):
    """What a worker gets first."""

    reading: ReadingSettings
    seconds: float
    """Processor time for one page."""
    memory: int
    """Bytes that reading may take."""
    parent: int
    """The process to die with."""


encode: Final = msgspec.msgpack.Encoder().encode
decode_settings: Final = msgspec.msgpack.Decoder(ParserSettings).decode
decode_task: Final = msgspec.msgpack.Decoder(ParseTask).decode
_decode_answer: Final = msgspec.msgpack.Decoder(_Answer).decode


def encode_answer(answer: Sequence[ParseResult]) -> bytes:
    pages, refused, passed = [], [], []
    for number, found in enumerate(answer):
        if isinstance(found, LoadedPage):
            about = (*found.version, found.cur, found.doc, found.outlinks, found.moved_to, found.same_since)
            pages.append((number, found.uri, found.domain, *about))
        elif isinstance(found, Refused):
            refused.append((number, *found))
        else:
            passed.append((number, found))
    return encode((pages, refused, passed))


def decode_answer(data: bytes | bytearray) -> list[ParseResult]:
    """Raises msgspec.DecodeError for what no worker of ours sends."""
    pages, refused, passed = _decode_answer(data)
    found: dict[int, ParseResult] = dict(passed)
    for number, reason, why in refused:
        found[number] = Refused(reason, why)
    for number, uri, domain, fetched, content, cur, doc, outlinks, moved_to, since in pages:
        version = Version(fetched, content)
        found[number] = LoadedPage(uri, domain, version, cur, doc, Outlinks(*outlinks), moved_to, since)
    if sorted(found) != list(range(len(found))):
        raise msgspec.ValidationError("an answer lacks some of its parts")
    return [found[number] for number in range(len(found))]


_PARSED_HERE: Final = 4 << 20
"""Bytes of lines that are parsed in less time than a worker takes to start."""

MESSAGES: Final = WorkerMessages[ParseTask, ParseResult](encode, decode_answer, lambda refused: refused)


def parser_command(reading: ReadingSettings, seconds: float, memory: int) -> WorkerCommand:
    """Workers that give a page so much processor time and memory."""
    return WorkerCommand(
        "weft.intake.parser_process", encode(ParserSettings(reading, seconds, memory, os.getpid())), seconds
    )


class ReadyAnswer:
    """A task whose answer is there."""

    def __init__(self, answer: list[ParseResult]) -> None:
        self._answer = answer

    def take(self) -> list[ParseResult]:
        return self._answer

    def drop(self) -> None:
        pass


class LocalFirstParsers:
    """Parses the first lines of an import here and the rest by workers; records, which may be hostile, only there."""

    def __init__(self, parser: PageParser, workers: WorkerPool[ParseTask, ParseResult]) -> None:
        self._parser, self._workers = parser, workers
        self._left = _PARSED_HERE

    def give(self, task: ParseTask) -> ReadyAnswer | PendingAnswer[ParseResult]:
        if not len(task):
            return ReadyAnswer([])
        if task.records or self._left <= 0:
            return self._workers.give(task)
        self._left -= sum(len(line or b"") for line in task.lines)
        return ReadyAnswer(self._parser.answer(task))


@contextmanager
def parser_pool(settings: Settings, rules: UrlRules, workers: int | None = None) -> Iterator[LocalFirstParsers]:
    """What an import parses with; so many workers, or one less than there are processors."""
    limits = settings.limits
    reading = ReadingSettings.from_settings(settings, rules)
    command = parser_command(reading, limits.parse_seconds, limits.parse_bytes)
    with WorkerPool(workers or max(1, processors() - 1), command, MESSAGES) as started:
        yield LocalFirstParsers(PageParser(reading), started)

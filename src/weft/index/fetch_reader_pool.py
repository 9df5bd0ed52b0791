"""Worker processes that read fetches for the index builder: what is sent to them and what comes back.

`fetch_reader_process` is the other end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from weft.config import Settings
from weft.index.builder import ReadAll
from weft.index.fetch_reader import FetchReader, ReadFetch, failed
from weft.intake.skip_reasons import Refused, SkipReason
from weft.intake.workers.worker_pool import WorkerMessages, WorkerPool, processors
from weft.intake.workers.worker_process import WorkerCommand
from weft.mgmt.values import BuildLink
from weft.model.fetch_error import FetchError
from weft.model.url import UrlRules
from weft.reading.settings import ReadingSettings

_GROUP: Final = 25
"""Fetches of one question: few enough that all workers are busy, and that little is asked again after a death."""


class ReaderSettings(msgspec.Struct, frozen=True):
    """What a worker that reads the archive gets first."""

    reading: ReadingSettings
    archive: str
    parent: int
    """The process to die with."""

    @classmethod
    def from_settings(cls, settings: Settings, rules: UrlRules, archive: Path) -> ReaderSettings:
        return cls(ReadingSettings.from_settings(settings, rules), str(archive), os.getpid())

    def reader(self) -> FetchReader:
        return FetchReader(self.reading, Path(self.archive))


class FetchTask(msgspec.Struct, frozen=True, array_like=True):
    links: list[BuildLink]

    def __len__(self) -> int:
        return len(self.links)

    def singly(self) -> Iterator[FetchTask]:
        return (FetchTask([link]) for link in self.links)


class FetchAnswer(msgspec.Struct, frozen=True, array_like=True):
    read: ReadFetch | None
    refused: str = ""
    """Class of the error, for a fetch whose worker died."""


encode: Final = msgspec.msgpack.Encoder().encode
decode_settings: Final = msgspec.msgpack.Decoder(ReaderSettings).decode
decode_fetches: Final = msgspec.msgpack.Decoder(FetchTask).decode
_decode_answers: Final = msgspec.msgpack.Decoder(list[FetchAnswer]).decode


_DEATHS: Final = {
    SkipReason.SLOW: FetchError.TOO_SLOW,
    SkipReason.MEMORY: FetchError.TOO_MUCH_MEMORY,
    SkipReason.CRASH: FetchError.CRASH,
}


def _refuse(refused: Refused) -> FetchAnswer:
    return FetchAnswer(None, _DEATHS[refused.reason])


_MESSAGES: Final = WorkerMessages[FetchTask, FetchAnswer](encode, _decode_answers, _refuse)


@contextmanager
def fetch_reader_pool(
    settings: Settings, rules: UrlRules, archive: Path, workers: int | None = None
) -> Iterator[ReadAll]:
    """Reads many fetches at once, with `workers` processes or one less than there are processors."""
    first = ReaderSettings.from_settings(settings, rules, archive)
    command = WorkerCommand("weft.index.fetch_reader_process", encode(first), settings.limits.parse_seconds)
    with WorkerPool(workers or max(1, processors() - 1), command, _MESSAGES) as started:

        def read_all(links: Sequence[BuildLink]) -> list[ReadFetch]:
            pending = [started.give(FetchTask(list(links[at : at + _GROUP]))) for at in range(0, len(links), _GROUP)]
            answers = [answer for each in pending for answer in each.take()]
            return [
                answer.read or failed(link.result, answer.refused) for link, answer in zip(links, answers, strict=True)
            ]

        yield read_all

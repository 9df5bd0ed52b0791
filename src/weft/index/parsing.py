"""Fetches read by worker processes: what is sent to them, what comes back, and a fetch whose worker died."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from weft.config import Settings
from weft.index.builder import ReadAll
from weft.index.fetches import FetchReader, Read, failed
from weft.intake.records import Reason, Refused
from weft.intake.workers.child import Orders
from weft.intake.workers.pool import Language, Workers, processors
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


class Fetches(msgspec.Struct, frozen=True, array_like=True):
    links: list[BuildLink]

    def __len__(self) -> int:
        return len(self.links)

    def singly(self) -> Iterator[Fetches]:
        return (Fetches([link]) for link in self.links)


class FetchAnswer(msgspec.Struct, frozen=True, array_like=True):
    read: Read | None
    refused: str = ""
    """Class of the error, for a fetch whose worker died."""


encode: Final = msgspec.msgpack.Encoder().encode
decode_settings: Final = msgspec.msgpack.Decoder(ReaderSettings).decode
decode_fetches: Final = msgspec.msgpack.Decoder(Fetches).decode
_decode_answers: Final = msgspec.msgpack.Decoder(list[FetchAnswer]).decode


_DEATHS: Final = {
    Reason.SLOW: FetchError.TOO_SLOW,
    Reason.MEMORY: FetchError.TOO_MUCH_MEMORY,
    Reason.CRASH: FetchError.CRASH,
}


def _refuse(refused: Refused) -> FetchAnswer:
    return FetchAnswer(None, _DEATHS[refused.reason])


_LANGUAGE: Final = Language[Fetches, FetchAnswer](encode, _decode_answers, _refuse)


@contextmanager
def reading_all(settings: Settings, rules: UrlRules, archive: Path, workers: int | None = None) -> Iterator[ReadAll]:
    """Reads many fetches at once, with `workers` processes or one less than there are processors."""
    first = ReaderSettings.from_settings(settings, rules, archive)
    orders = Orders("weft.index.worker", encode(first), settings.limits.parse_seconds)
    with Workers(workers or max(1, processors() - 1), orders, _LANGUAGE) as started:

        def read_all(links: Sequence[BuildLink]) -> list[Read]:
            pending = [started.give(Fetches(list(links[at : at + _GROUP]))) for at in range(0, len(links), _GROUP)]
            answers = [answer for each in pending for answer in each.take()]
            return [
                answer.read or failed(link.result, answer.refused) for link, answer in zip(links, answers, strict=True)
            ]

        yield read_all

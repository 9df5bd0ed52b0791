"""Worker processes that read fetches for the index builder: what is sent to them and what comes back.

`fetch_reader_process` is the other end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from weft.config import Settings
from weft.index.read_fetch import ReadFetch
from weft.index.reading_lanes import AskedFetch, LaneMessages, ReadingLanes
from weft.index.record_access import NodeSettings
from weft.intake.workers.worker_pool import processors
from weft.intake.workers.worker_process import WorkerCommand
from weft.mgmt.values import BuildLink
from weft.model.url import UrlRules
from weft.reading.settings import ReadingSettings

if TYPE_CHECKING:
    from weft.index.fetch_reader import FetchReader

QUICK_SECONDS: Final = 0.5
"""Processor time for a page in an ordinary worker. Ordinary pages take a few milliseconds."""


class ReaderSettings(msgspec.Struct, frozen=True):
    """What a worker that reads the archive gets first."""

    reading: ReadingSettings
    archive: str
    parent: int
    """The process to die with."""
    seconds: float
    """Processor time for one page."""
    nodes: NodeSettings | None = None
    """How to ask other nodes for records; None: all lie here."""

    @classmethod
    def from_settings(cls, settings: Settings, rules: UrlRules, archive: Path) -> ReaderSettings:
        reading = ReadingSettings.from_settings(settings, rules)
        nodes = NodeSettings.from_settings(settings)
        return cls(reading, str(archive), os.getpid(), settings.limits.parse_seconds, nodes)

    def reader(self) -> FetchReader:
        # Whoever asks for it loads the parser: the index process does not.
        from weft.index.fetch_reader import FetchReader

        return FetchReader(self.reading, Path(self.archive))

    def command(self, seconds: float) -> WorkerCommand:
        """Workers that read fetches, each in at most so much processor time."""
        bounded = msgspec.structs.replace(self, seconds=min(seconds, self.seconds))
        return WorkerCommand("weft.index.fetch_reader_process", encode(bounded), bounded.seconds)


class FetchQuestion(msgspec.Struct, frozen=True, array_like=True):
    """A fetch to read, with its record and the one that this repeats if they came from another node."""

    link: BuildLink
    members: list[bytes]


encode: Final = msgspec.msgpack.Encoder().encode


def _encode_asked(fetches: Sequence[AskedFetch]) -> bytes:
    return encode([(asked.link, asked.members) for asked in fetches])


decode_settings: Final = msgspec.msgpack.Decoder(ReaderSettings).decode
decode_fetches: Final = msgspec.msgpack.Decoder(list[FetchQuestion]).decode
_MESSAGES: Final = LaneMessages(_encode_asked, msgspec.msgpack.Decoder(ReadFetch).decode)


@contextmanager
def fetch_reader_pool(
    settings: Settings, rules: UrlRules, archive: Path, workers: int | None = None, quick: float = QUICK_SECONDS
) -> Iterator[ReadingLanes]:
    """Reads fetches with `workers` processes, or one less than there are processors, and one for slow pages."""
    first = ReaderSettings.from_settings(settings, rules, archive)
    count = workers or max(1, processors() - 1)
    with ReadingLanes(count, first.command(quick), first.command(first.seconds), _MESSAGES) as lanes:
        yield lanes

"""The process that reads records again for `weft verify --archive`."""

from __future__ import annotations

from collections.abc import Iterator

from weft.index.archive_reader import ArchiveReader, decode_group
from weft.index.fetch_reader_pool import decode_settings, encode
from weft.intake.workers.worker_main import Answering, WorkerLimits, serve, set_alarm


def begin(first: bytearray) -> tuple[WorkerLimits, Answering]:
    settings = decode_settings(first)
    reader = ArchiveReader(settings)

    def answer(question: bytearray) -> Iterator[bytes]:
        answers = []
        for fetch in decode_group(question).fetches:
            set_alarm(settings.reading.limits.parse_seconds)
            answers.append(reader.read(fetch))
        set_alarm(0)
        yield encode(answers)

    return WorkerLimits(settings.reading.limits.parse_bytes, settings.parent), answer


if __name__ == "__main__":
    serve(begin)

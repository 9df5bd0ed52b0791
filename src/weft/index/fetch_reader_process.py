"""The process that reads fetches for the index builder."""

from __future__ import annotations

from collections.abc import Iterator

from weft.index.fetch_reader_pool import decode_fetches, decode_settings, encode
from weft.intake.workers.worker_main import Answering, WorkerLimits, serve, set_alarm


def begin(first: bytearray) -> tuple[WorkerLimits, Answering]:
    settings = decode_settings(first)
    reader = settings.reader()

    def answer(question: bytearray) -> Iterator[bytes]:
        """A frame for each fetch: whoever asked knows which one this process died of, and holds few at a time."""
        for asked in decode_fetches(question):
            set_alarm(settings.seconds)
            read = encode(reader.read(asked.link, asked.members))
            set_alarm(0)
            yield read

    return WorkerLimits(settings.reading.limits.parse_bytes, settings.parent), answer


if __name__ == "__main__":
    serve(begin)

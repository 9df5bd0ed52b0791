"""The process that reads fetches for the index builder."""

from __future__ import annotations

from collections.abc import Callable

from weft.index.fetch_reader_pool import FetchAnswer, decode_fetches, decode_settings, encode
from weft.intake.workers.worker_main import WorkerLimits, serve, set_alarm


def begin(first: bytearray) -> tuple[WorkerLimits, Callable[[bytearray], bytes]]:
    settings = decode_settings(first)
    reader = settings.reader()

    def answer(question: bytearray) -> bytes:
        answers = []
        for link in decode_fetches(question).links:
            set_alarm(settings.reading.limits.parse_seconds)
            answers.append(FetchAnswer(reader.read(link)))
        set_alarm(0)
        return encode(answers)

    return WorkerLimits(settings.reading.limits.parse_bytes, settings.parent), answer


if __name__ == "__main__":
    serve(begin)

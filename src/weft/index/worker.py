"""The process that reads fetches for the index builder."""

from __future__ import annotations

from collections.abc import Callable

from weft.index.parsing import Answer, decode_fetches, decode_settings, encode
from weft.intake.workers.serving import Bounds, serve, set_alarm


def begin(told: bytearray) -> tuple[Bounds, Callable[[bytearray], bytes]]:
    settings = decode_settings(told)
    reader = settings.reader()

    def answer(question: bytearray) -> bytes:
        answers = []
        for link in decode_fetches(question).links:
            set_alarm(settings.limits.parse_seconds)
            answers.append(Answer(reader.read(link)))
        set_alarm(0)
        return encode(answers)

    return Bounds(settings.limits.parse_bytes, settings.parent), answer


if __name__ == "__main__":
    serve(begin)

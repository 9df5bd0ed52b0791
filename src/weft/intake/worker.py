"""The process that parses for an import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.intake.messages import decode_settings, decode_task, encode_answer
from weft.intake.parsing import Parser, Task
from weft.intake.records import ArchiveRecord
from weft.intake.workers.serving import Bounds, serve, set_alarm

_PAGE: Final = b"<title>A page</title><p>A few words and <a href=/>a link</a>"
_WARM_UP: Final = ArchiveRecord("resource", "https://example.com/", "", "text/html", False, _PAGE)


def begin(first: bytearray) -> tuple[Bounds, Callable[[bytearray], bytes]]:
    settings = decode_settings(first)
    # What the first page would load is no part of what a page may take.
    Parser(settings.reading).answer(Task(0, records=[_WARM_UP]))
    parser = Parser(settings.reading, before=lambda: set_alarm(settings.seconds))

    def answer(question: bytearray) -> bytes:
        found = parser.answer(decode_task(question))
        set_alarm(0)
        return encode_answer(found)

    return Bounds(settings.memory, settings.parent), answer


if __name__ == "__main__":
    serve(begin)

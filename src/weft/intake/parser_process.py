"""The worker process that parses lines and records for an import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weft.intake.page_parser import PageParser, ParseTask
from weft.intake.parser_pool import decode_settings, decode_task, encode_answer
from weft.intake.record_heads import ArchiveRecord
from weft.intake.workers.worker_main import Answering, WorkerLimits, serve, set_alarm

_PAGE: Final = b"<title>A page</title><p>A few words and <a href=/>a link</a>"
_WARM_UP: Final = ArchiveRecord("resource", "https://example.com/", "", "text/html", False, _PAGE)


def begin(first: bytearray) -> tuple[WorkerLimits, Answering]:
    settings = decode_settings(first)
    # What the first page would load is no part of what a page may take.
    PageParser(settings.reading).answer(ParseTask(0, records=[_WARM_UP]))
    parser = PageParser(settings.reading, before=lambda: set_alarm(settings.seconds))

    def answer(question: bytearray) -> Iterator[bytes]:
        found = parser.answer(decode_task(question))
        set_alarm(0)
        yield encode_answer(found)

    return WorkerLimits(settings.memory, settings.parent), answer


if __name__ == "__main__":
    serve(begin)

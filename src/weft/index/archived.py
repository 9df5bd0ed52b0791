"""What the archive says of pages: records named by accepted results, read again by worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from weft.archive.cdxj import Position
from weft.archive.faults import RecordUnreadable
from weft.archive.reading import Record, parse_record, read_member_bytes
from weft.config import Settings
from weft.index.fetches import FetchReader
from weft.index.parsing import ReaderSettings, encode, told_to_readers
from weft.intake.outcome import is_success
from weft.intake.records import Refused
from weft.intake.workers.child import Orders
from weft.intake.workers.pool import Language, Workers, processors
from weft.mgmt.values import BuildLink, DocId, LinkState, Result, WarcPosition
from weft.model.url import UrlRefused, UrlRules

_GROUP: Final = 50
_AHEAD: Final = 4
"""Questions for each worker that may be under way."""
_LONGEST_TYPE: Final = 2048
"""Characters of a content type; the spider reports none that is longer."""


class ArchivedFetch(msgspec.Struct, frozen=True, array_like=True):
    """A fetch that decided what the index holds of a page."""

    uri: bytes
    decided: int
    fetched: int
    """When the page was last asked for: its version is not newer unless it came from elsewhere."""
    position: WarcPosition


class Said(msgspec.Struct, frozen=True, array_like=True):
    """What the record of a fetch says: the page's content, or that there is no page, or why it says nothing."""

    cur: bytes = b""
    doc: bytes = b""
    problem: str = ""


class Question(msgspec.Struct, frozen=True, array_like=True):
    fetches: list[ArchivedFetch]

    def __len__(self) -> int:
        return len(self.fetches)

    def singly(self) -> Iterator[Question]:
        return (Question([fetch]) for fetch in self.fetches)


decode_question: Final = msgspec.msgpack.Decoder(Question).decode


def _refuse(refused: Refused) -> Said:
    return Said(problem=refused.why)


_LANGUAGE: Final = Language[Question, Said](encode, msgspec.msgpack.Decoder(list[Said]).decode, _refuse)


class ArchiveReader:
    """Reads a record as the index builder did, with nothing but the record to go by."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._rules = UrlRules(settings.strip, settings.max_length)
        self._reader: FetchReader = settings.reader()
        self._archive = Path(settings.archive)

    def read(self, fetch: ArchivedFetch) -> Said:
        at = fetch.position
        position = Position(at.file, at.offset, at.length)
        try:
            record = parse_record(read_member_bytes(self._archive, position), position)
            return self._said(fetch, record)
        except RecordUnreadable as error:
            return Said(problem=error.problem)

    def _said(self, fetch: ArchivedFetch, record: Record) -> Said:
        url = record.fields.get("warc-target-uri", "")
        try:
            found = self._rules.identify(url).uri.encode()
        except UrlRefused as refused:
            return Said(problem=str(refused))
        if found != fetch.uri:
            return Said(problem=f"it is of {url}")
        if not is_success(record.head.status):
            # Only answers that decide are named: this one says that there is no page.
            return Said()
        return self._content(fetch, url, record)

    def _content(self, fetch: ArchivedFetch, url: str, record: Record) -> Said:
        media = record.head.get("content-type")
        result = Result(
            doc_id=DocId(0),
            claim=0,
            status=record.head.status,
            position=fetch.position,
            ended=fetch.decided,
            content_type=media if len(media) <= _LONGEST_TYPE else "",
        )
        link = BuildLink(doc_id=DocId(0), uri=fetch.uri.decode(), url=url, state=LinkState.CRAWLED, result=result)
        read = self._reader.read(link)
        if read.page is None:
            return Said(problem=f"it cannot be parsed: {read.fetched.error}")
        return Said(read.page.cur, read.page.doc)


ReadAgain = Callable[[Iterable[ArchivedFetch]], Iterator[tuple[ArchivedFetch, Said]]]


@contextmanager
def reading_again(
    settings: Settings, rules: UrlRules, archive: Path, workers: int | None = None
) -> Iterator[ReadAgain]:
    """What reads any number of records, in order, a bounded number at a time."""
    count = workers or processors()
    told = told_to_readers(settings, rules, archive)
    orders = Orders("weft.index.archived_worker", encode(told), settings.limits.parse_seconds)
    with Workers(count, orders, _LANGUAGE) as started:

        def read_again(fetches: Iterable[ArchivedFetch]) -> Iterator[tuple[ArchivedFetch, Said]]:
            pending = ((group, started.give(group)) for group in _grouped(fetches))
            window = list(islice(pending, count * _AHEAD))
            while window:
                group, answer = window.pop(0)
                yield from zip(group.fetches, answer.take(), strict=True)
                window += islice(pending, 1)

        yield read_again


def _grouped(fetches: Iterable[ArchivedFetch]) -> Iterator[Question]:
    remaining = iter(fetches)
    while group := list(islice(remaining, _GROUP)):
        yield Question(group)

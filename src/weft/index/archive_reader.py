"""Reads again what the archive holds of pages, in worker processes, to compare the index with it.

`archive_reader_process` is the other end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from weft.archive.archive_errors import NodeUnreachable, RecordDropped, RecordUnreadable
from weft.archive.body_decoding import BodyRefused
from weft.archive.cdxj import RecordPosition
from weft.archive.record_reader import WarcRecord, parse_record, response_of
from weft.config import Settings
from weft.index.fetch_reader_pool import ReaderSettings, encode
from weft.index.record_access import RecordSource
from weft.intake.skip_reasons import Refused
from weft.intake.workers.worker_pool import PATIENCE, WorkerMessages, WorkerPool, processors
from weft.intake.workers.worker_process import WorkerCommand
from weft.mgmt.values import WarcPosition
from weft.model.url import PageUrl, UrlRefused, UrlRules
from weft.reading.http_reader import HttpReader, PageResponse, location_in
from weft.reading.response_body import Body, own_body
from weft.reading.settings import CRAWL

_GROUP: Final = 50
_AHEAD: Final = 4
"""Groups per worker that may be in progress."""
_PATIENCE: Final = 600.0
"""Seconds that a worker may be silent: its group may lie on many nodes that are away."""


class ArchivedFetch(msgspec.Struct, frozen=True, array_like=True):
    """The fetch that decided what the index holds of a page."""

    uri: bytes
    decided: int
    fetched: int
    """When the page was last fetched. A newer version in the index came from elsewhere, such as an import."""
    position: WarcPosition


class ExpectedPage(msgspec.Struct, frozen=True, array_like=True):
    """What the index should hold according to a record: content, no page (both empty), or why that cannot be known."""

    cur: bytes = b""
    doc: bytes = b""
    problem: str = ""
    unreachable: str = ""
    """The node that has the record and cannot be asked; then `problem` says why."""
    is_dropped: bool = False
    """Whether the record was dropped on purpose."""


class ArchiveTask(msgspec.Struct, frozen=True, array_like=True):
    """The records that a worker reads in one go."""

    fetches: list[ArchivedFetch]

    def __len__(self) -> int:
        return len(self.fetches)

    def singly(self) -> Iterator[ArchiveTask]:
        return (ArchiveTask([fetch]) for fetch in self.fetches)


decode_group: Final = msgspec.msgpack.Decoder(ArchiveTask).decode


def _refuse(refused: Refused) -> ExpectedPage:
    return ExpectedPage(problem=refused.why)


_MESSAGES: Final = WorkerMessages[ArchiveTask, ExpectedPage](
    encode, msgspec.msgpack.Decoder(list[ExpectedPage]).decode, _refuse
)


class ArchiveReader:
    """Reads records the way the index builder does, but relies on the record alone.

    URL, status, content type and Location are those of the record, not those that the spider reported.
    """

    def __init__(self, settings: ReaderSettings) -> None:
        self._reader = HttpReader(settings.reading, CRAWL)
        self._records = RecordSource(Path(settings.archive), settings.nodes)

    def read(self, fetch: ArchivedFetch) -> ExpectedPage:
        at = fetch.position
        position = RecordPosition(at.file, at.offset, at.length)
        try:
            record = parse_record(self._records.member(at.node, position), position)
            return self._expected(fetch, record)
        except RecordDropped as error:
            return ExpectedPage(problem=error.problem, is_dropped=True)
        except RecordUnreadable as error:
            return ExpectedPage(problem=error.problem)
        except NodeUnreachable as error:
            return ExpectedPage(problem=error.reason, unreachable=error.node)

    def _expected(self, fetch: ArchivedFetch, record: WarcRecord) -> ExpectedPage:
        url, head = record.fields.get("warc-target-uri", ""), record.head
        try:
            page = self._reader.rules.identify(url)
        except UrlRefused as refused:
            return ExpectedPage(problem=str(refused))
        if page.uri.encode() != fetch.uri:
            return ExpectedPage(problem=f"it is of {url}")
        open_payload = partial(self._body, page, record, fetch.position.node)
        response = PageResponse(page, fetch.decided, head.status, location_in(head), open_payload)
        try:
            loaded = self._reader.read(response).page
        except BodyRefused as refused:
            return ExpectedPage(problem=f"it cannot be parsed: {refused.reason}")
        # Only fetches that decided about their page are read again: without content, there should be no page.
        return ExpectedPage(loaded.cur, loaded.doc) if loaded else ExpectedPage()

    def _body(self, page: PageUrl, record: WarcRecord, node: str) -> Body:
        response = response_of(record, partial(self._records.member, node))
        return own_body(self._reader.settings, page.url, record.head.content_type, response)


ReadAgain = Callable[[Iterable[ArchivedFetch]], Iterator[tuple[ArchivedFetch, ExpectedPage]]]


@contextmanager
def archive_reader_pool(
    settings: Settings, rules: UrlRules, archive: Path, workers: int | None = None
) -> Iterator[ReadAgain]:
    """Reads any number of records, in order, with a bounded number in progress."""
    count = workers or processors()
    first = ReaderSettings.from_settings(settings, rules, archive)
    if first.nodes:
        first.nodes.access()  # workers could not say what is wrong with it
    command = WorkerCommand("weft.index.archive_reader_process", encode(first), settings.limits.parse_seconds)
    with WorkerPool(count, command, _MESSAGES, _PATIENCE if first.nodes else PATIENCE) as started:

        def read_again(fetches: Iterable[ArchivedFetch]) -> Iterator[tuple[ArchivedFetch, ExpectedPage]]:
            pending = ((group, started.give(group)) for group in _grouped(fetches))
            window = list(islice(pending, count * _AHEAD))
            while window:
                group, answer = window.pop(0)
                yield from zip(group.fetches, answer.take(), strict=True)
                window += islice(pending, 1)

        yield read_again


def _grouped(fetches: Iterable[ArchivedFetch]) -> Iterator[ArchiveTask]:
    remaining = iter(fetches)
    while group := list(islice(remaining, _GROUP)):
        yield ArchiveTask(group)

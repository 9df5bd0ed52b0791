"""One response read three ways: built from a crawl, imported from an archive, and read again by `verify --archive`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from support.built_world import RULES, World
from weft.clock import ManualClock
from weft.config import Settings
from weft.config.sections import IndexSettings
from weft.index.archive_reader import ArchiveReader, ExpectedPage
from weft.index.fetch_reader_pool import ReaderSettings
from weft.index.verify_archive import ArchiveVerification, decisive_fetches, verify_archive
from weft.intake.page_parser import PageParser, ParseResult, ParseTask
from weft.intake.record_heads import ArchiveRecord
from weft.linkindex import keys
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import pack_doc, read_doc
from weft.reading.settings import ReadingSettings
from weft.store.api import Reader
from weft.store.memory import MemoryStore
from weft.store.tables import Table

URL = "https://a.com/page"


class Held(NamedTuple):
    """What the index holds of a page; both are empty if there is none."""

    cur: bytes
    doc: bytes

    @classmethod
    def by(cls, reader: Reader) -> Held:
        uri = RULES.identify(URL).uri.encode()
        cur = reader.get(Table.FLUO, [keys.page_column(uri, keys.CUR)])[0]
        doc = reader.get(Table.DOCS, [keys.doc_column(uri)])[0]
        return cls(cur.value if cur else b"", pack_doc(read_doc(doc.value)) if doc else b"")


class Sent(NamedTuple):
    """A response as a server sends it."""

    status: int = 200
    kind: str = "text/html"
    body: str = ""
    location: str | None = None

    @property
    def raw(self) -> bytes:
        location = "" if self.location is None else f"Location: {self.location}\r\n"
        return f"HTTP/1.1 {self.status} X\r\nContent-Type: {self.kind}\r\n{location}\r\n{self.body}".encode()


def crawl(place: Path, *sent: Sent) -> World:
    """The world after a crawl asked for the page so often."""
    world = World(place)
    for number, each in enumerate(sent):
        if number:
            world.again()
        about = {} if each.location is None else {"location": each.location}
        world.crawl(URL, each.body, each.status, each.kind, **about)
    return world


def imported(*sent: Sent) -> tuple[Held, Sequence[ParseResult]]:
    """What an index holds after an import of these responses, one a day, and what each of them gave."""
    parser = PageParser(ReadingSettings.from_settings(Settings(), RULES))
    records = [
        ArchiveRecord("response", URL, f"2026-01-{number + 1:02}T12:00:00Z", "", False, each.raw)
        for number, each in enumerate(sent)
    ]
    found = parser.answer(ParseTask(0, records=records))
    store = MemoryStore()
    LinkIndex(store, IndexSettings(), ManualClock(0)).apply([page for page in found if isinstance(page, LoadedPage)])
    return Held.by(store), found


def expected_by_archive(world: World) -> ExpectedPage:
    """What the record that decided about the page calls for."""
    uri = RULES.identify(URL).uri.encode()
    (fetch,) = [fetch for fetch in decisive_fetches(world.store) if fetch.uri == uri]
    return _archive(world).read(fetch)


def verified(world: World) -> ArchiveVerification:
    archive = _archive(world)
    return verify_archive(world.store, lambda fetches: ((fetch, archive.read(fetch)) for fetch in fetches))


def _archive(world: World) -> ArchiveReader:
    return ArchiveReader(ReaderSettings.from_settings(Settings(), RULES, world.place / "warc"))

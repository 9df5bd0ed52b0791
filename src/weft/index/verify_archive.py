"""Whether the pages of the index are what the archive says: each page against the record that decided it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import msgspec

from weft.dispatcher.domain_work import domains
from weft.dispatcher.link_records import DOMAIN_ROW, LINK, decode_record
from weft.dispatcher.lost_links import CrawledPage, LostLink, LostLinks
from weft.index.archive_reader import ArchivedFetch, ExpectedPage, ReadAgain
from weft.linkindex import keys
from weft.linkindex.derived import Progress, current_pages
from weft.linkindex.index_state import IndexState
from weft.linkindex.records import decode_page, encode_page, pack_doc, read_doc
from weft.linkindex.verify import EXAMPLES
from weft.model.url import has_odd_host
from weft.store.api import Reader
from weft.store.tables import Table, readable

_BLOCK: Final = 200
_TELL_EVERY: Final = 1000
_AROUND: Final = 40


@dataclass(slots=True)
class ArchiveVerification:
    """How many records were read again, what they call for, and where the index says something else."""

    records: int = 0
    pages: int = 0
    """Pages of the index that a record was compared with."""
    left_out: int = 0
    """Pages that no fetch decided: imported ones."""
    unreachable: int = 0
    """Records on nodes that could not be asked: whether the index is right about them is not known."""
    nodes: dict[str, str] = field(default_factory=dict)
    """Those nodes, and why each could not be asked."""
    differences: int = 0
    examples: list[str] = field(default_factory=list)
    unreached_pages: int = 0
    """Pages of the index whose records are unreachable or dropped."""
    dropped: int = 0
    """Records that were dropped on purpose: as after the index was put back to an earlier state."""
    links: int | None = None
    """Links of crawled pages, in scope and refused for no reason, that were looked for among the known ones; None: none
    were, because it is not known what is in scope."""
    lost_links: int = 0
    """Those that are not known, so that nobody will ever fetch them."""
    waiting_links: int = 0
    """Links in scope that the next crawl looks at, because sites or settings changed: they may be unknown till then."""

    @property
    def is_complete(self) -> bool:
        return not self.unreachable

    def differs(self, sentence: str) -> None:
        self.differences += 1
        self._show(sentence)

    def loses(self, link: LostLink) -> None:
        self.lost_links += 1
        row, uri = (readable(text) for text in (DOMAIN_ROW + link.domain, link.uri))
        self._show(f"links {row} link:{uri} is missing: {link.source} leads to {link.url}, which is in scope")

    def _show(self, sentence: str) -> None:
        if len(self.examples) < EXAMPLES:
            self.examples.append(sentence)


def verify_archive(
    reader: Reader, read_again: ReadAgain, progress: Progress | None = None, lost: LostLinks | None = None
) -> ArchiveVerification:
    """Read every record that decided about a page again and compare; `reader` must hold still.

    With `lost`, the links of these pages are looked for among those that the crawl knows.
    """
    found = ArchiveVerification()
    read = read_again(decisive_fetches(reader))
    while block := list(islice(read, _BLOCK)):
        crawled = _compare(reader, block, found)
        for link in lost.of(crawled) if lost else ():
            found.loses(link)
        if progress and found.records % _TELL_EVERY < len(block):
            progress("records", found.records)
    found.left_out = sum(1 for _ in current_pages(reader)) - found.pages - found.unreached_pages
    if lost is not None:
        found.links, found.waiting_links = lost.judged, lost.waiting
    return found


def decisive_fetches(reader: Reader) -> Iterator[ArchivedFetch]:
    """Of every link that was ever decided, the last fetch that did."""
    for domain in domains(reader):
        for cell in reader.scan(Table.LINKS, DOMAIN_ROW + domain, LINK):
            record = decode_record(cell.value)
            if record.decided_position is not None:
                yield ArchivedFetch(cell.qualifier, record.decided, record.fetched, record.decided_position)


def _compare(
    reader: Reader, block: Sequence[tuple[ArchivedFetch, ExpectedPage]], found: ArchiveVerification
) -> list[CrawledPage]:
    """Returns what the index has of these fetches."""
    crawled: list[CrawledPage] = []
    uris = [fetch.uri for fetch, _ in block]
    versions = IndexState(reader).versions(uris)
    pages = reader.get(Table.FLUO, [keys.page_column(uri, keys.CUR) for uri in uris])
    docs = reader.get(Table.DOCS, [keys.doc_column(uri) for uri in uris])
    for (fetch, expected), page, doc in zip(block, pages, docs, strict=True):
        version = versions.get(fetch.uri)
        if version is not None and version.fetched > fetch.fetched:
            continue  # loaded or deleted from elsewhere since
        location = read_doc(doc.value).location if doc and not page else ""
        crawled.append(CrawledPage(fetch.uri, page.value if page else b"", location))
        if expected.is_dropped:
            found.dropped += 1
            found.unreached_pages += page is not None
            continue
        if expected.unreachable:
            found.unreachable += 1
            found.unreached_pages += page is not None
            found.nodes[expected.unreachable] = expected.problem
            continue
        found.records += 1
        found.pages += page is not None
        _compare_one(fetch, expected, page.value if page else b"", _unpacked(doc.value) if doc else b"", found)
    return crawled


def _compare_one(
    fetch: ArchivedFetch, expected: ExpectedPage, cur: bytes, doc: bytes, found: ArchiveVerification
) -> None:
    at = fetch.position
    place = f"{at.file} at {at.offset}"
    name = fetch.uri.decode(errors="replace")
    if expected.problem:
        found.differs(f"fluo p:{name}: its record {place} cannot be read again: {expected.problem}")
        return
    for cell, held, wanted in (
        (f"fluo p:{name} page:cur", cur, expected.cur),
        (f"docs x:{name} doc", doc, expected.doc),
    ):
        if held != wanted and _as_read_now(held) != wanted:
            found.differs(f"{cell} {_difference(held, wanted)}, by the record {place}")


def _difference(held: bytes, expected: bytes) -> str:
    """Around the first byte that differs: long values mostly begin alike."""
    if not held:
        return "is missing"
    if not expected:
        return "is there, expected nothing"
    same = next(
        (n for n, (a, b) in enumerate(zip(held, expected, strict=False)) if a != b), min(len(held), len(expected))
    )
    begin, end = max(0, same - _AROUND // 2), same + _AROUND
    return f"is …{readable(held[begin:end])}… from byte {begin} on, expected …{readable(expected[begin:end])}…"


def _as_read_now(held: bytes) -> bytes:
    """A page that an older weft read may have links to hosts that are refused now."""
    try:
        page = decode_page(held)
    except msgspec.DecodeError:
        return held
    kept = [link for link in page.outlinks if not has_odd_host(link.url)]
    dropped = len(page.outlinks) - len(kept)
    return encode_page(msgspec.structs.replace(page, outlinks=kept, outlinkcount=page.outlinkcount - dropped))


def _unpacked(stored: bytes) -> bytes:
    """Without compression, which may differ for one content."""
    return pack_doc(read_doc(stored))

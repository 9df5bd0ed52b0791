"""Whether the pages of the index are what the archive says: each page against the record that decided it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from weft.dispatcher.domain_work import domains
from weft.dispatcher.link_records import DOMAIN_ROW, LINK, decode_record
from weft.index.archive_reader import ArchivedFetch, ExpectedPage, ReadAgain
from weft.linkindex import keys
from weft.linkindex.derived import Progress, current_pages
from weft.linkindex.index_state import IndexState
from weft.linkindex.records import pack_doc, read_doc
from weft.linkindex.verify import EXAMPLES
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

    @property
    def is_complete(self) -> bool:
        return not self.unreachable

    def differs(self, sentence: str) -> None:
        self.differences += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(sentence)


def verify_archive(reader: Reader, read_again: ReadAgain, progress: Progress | None = None) -> ArchiveVerification:
    """Read every record that decided about a page again and compare; `reader` must hold still."""
    found = ArchiveVerification()
    read = read_again(decisive_fetches(reader))
    while block := list(islice(read, _BLOCK)):
        _compare(reader, block, found)
        if progress and found.records % _TELL_EVERY < len(block):
            progress("records", found.records)
    found.left_out = sum(1 for _ in current_pages(reader)) - found.pages - found.unreached_pages
    return found


def decisive_fetches(reader: Reader) -> Iterator[ArchivedFetch]:
    """Of every link that was ever decided, the last fetch that did."""
    for domain in domains(reader):
        for cell in reader.scan(Table.LINKS, DOMAIN_ROW + domain, LINK):
            record = decode_record(cell.value)
            if record.decided_position is not None:
                yield ArchivedFetch(cell.qualifier, record.decided, record.fetched, record.decided_position)


def _compare(reader: Reader, block: Iterable[tuple[ArchivedFetch, ExpectedPage]], found: ArchiveVerification) -> None:
    block = list(block)
    uris = [fetch.uri for fetch, _ in block]
    versions = IndexState(reader).versions(uris)
    pages = reader.get(Table.FLUO, [keys.page_column(uri, keys.CUR) for uri in uris])
    docs = reader.get(Table.DOCS, [keys.doc_column(uri) for uri in uris])
    for (fetch, expected), page, doc in zip(block, pages, docs, strict=True):
        version = versions.get(fetch.uri)
        if version is not None and version.fetched > fetch.fetched:
            continue  # loaded or deleted from elsewhere since
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
        if held != wanted:
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


def _unpacked(stored: bytes) -> bytes:
    """Without compression, which may differ for one content."""
    return pack_doc(read_doc(stored))

"""Whether what is searchable is exactly what the store calls for.

The expected documents are computed by a walk over whole tables, with none of the code that the indexer uses: what they
share is the form of keys, records and documents, the analysis, and which of many links to a page are looked at. Every
page is compared by the digest of its document. Of some pages every single word is looked up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from tantivy import FieldType, Occur, Query, Searcher
from xxhash import xxh3_64_intdigest

from weft.errors import SearchMissing
from weft.linkindex.external_sort import ExternalSort
from weft.linkindex.records import Doc, read_doc
from weft.model.url import Uri, UrlRefused, domain_of, identity_of
from weft.search.analysis import STEMMED, language_of, make_analyzer, prepared
from weft.search.document import SearchDocument
from weft.search.document_source import INLINKS_READ, inlinks_of
from weft.search.schema import make_schema, stem_field
from weft.search.shard import ShardDirectory, open_searcher, read_cursors, reading
from weft.store.api import Cell, Reader
from weft.store.tables import Table

EXAMPLES: Final = 20
_SAMPLE: Final = 200
"""Pages whose words are all looked up, about."""
_RANGE: Final = 20_000
"""Documents that are read from a shard at once, about."""
_MEMORY: Final = 64 << 20
_KEYS: Final = 2**64
_DIGEST_BYTES: Final = 16
_EXPECTED, _HELD = b"e", b"h"
_SCHEMA: Final = make_schema()


@dataclass(slots=True)
class SearchVerification:
    """How many documents were compared, and what was wrong with them."""

    documents: int = 0
    words: int = 0
    """Words that were looked up one by one."""
    differences: int = 0
    examples: list[str] = field(default_factory=list)
    behind: int = 0
    """Rounds of the store that are not in the index yet; while there are any, differences are to be expected."""

    def add(self, sentence: str, most: int = EXAMPLES) -> None:
        self.differences += 1
        if len(self.examples) < most:
            self.examples.append(sentence)


def verify_search(
    reader: Reader, shards: Sequence[ShardDirectory], directory: Path, progress: Callable[[str, int], None]
) -> SearchVerification:
    """Compare the shards with what `reader`, which must hold still, calls for. Large sorts use `directory`."""
    found = SearchVerification()
    searchers = [_searcher(shard) for shard in shards]
    cursors = [read_cursors(searcher, shard.path) for searcher, shard in zip(searchers, shards, strict=True)]
    found.behind = reader.last_seq - min(cursor.references for cursor in cursors)
    every = 1 + sum(searcher.num_docs for searcher in searchers) // _SAMPLE
    with ExternalSort(directory, _MEMORY) as sides:
        for number, document in enumerate(expected_documents(reader), 1):
            sides.add(_record(document.uri, _EXPECTED, document.digest()))
            if document.key % every == 0:
                at = crc32(document.uri.encode()) % len(shards)
                with reading(shards[at].path):
                    _look_up_words(searchers[at], document, found)
            if number % 1000 == 0:
                progress("documents", number)
        for number, (shard, searcher) in enumerate(zip(shards, searchers, strict=True)):
            for uri, digest in held_documents(searcher, shard.path):
                sides.add(_record(uri, _HELD, digest))
                if crc32(uri.encode()) % len(shards) != number:
                    found.add(f"{uri} is in shard {number}, where it does not belong")
        _compare(sides, found)
    return found


def held_documents(searcher: Searcher, path: Path) -> Iterator[tuple[str, bytes]]:
    """The uri and digest of every document of a shard, in no order."""
    parts = 1 + searcher.num_docs // _RANGE
    for part in range(parts):
        low, high = _KEYS * part // parts, _KEYS * (part + 1) // parts - 1
        query = Query.range_query(_SCHEMA, "key", FieldType.Unsigned, lower_bound=low, upper_bound=high)
        with reading(path):
            hits = searcher.search(query, max(1, searcher.num_docs), count=False).hits
        for _, address in hits:
            with reading(path):
                document = searcher.doc(address)
            yield document.get_first("uri") or "", bytes(document.get_first("digest") or b"")


class _Told(NamedTuple):
    """What the tables say of one uri."""

    anchors: list[tuple[bytes, bytes]]
    """Sources and words, one more than are all read."""
    references: int
    is_loaded: bool
    doc: bytes | None
    changed: int
    is_gone: bool


def expected_documents(reader: Reader) -> Iterator[SearchDocument]:
    """Every document that the store calls for, in the order of uris."""
    cells = merge(
        ((cell.row[2:], Table.QUERY, cell) for cell in reader.scan_rows(Table.QUERY, b"p:")),
        ((cell.row[2:], Table.DOCS, cell) for cell in reader.scan_rows(Table.DOCS, b"x:")),
        ((cell.row[2:], Table.FLUO, cell) for cell in reader.scan_rows(Table.FLUO, b"p:") if cell.qualifier == b"gone"),
        key=lambda found: found[0],
    )
    for uri, group in groupby(cells, key=lambda found: found[0]):
        told = _told((table, cell) for _, table, cell in group)
        if len(told.anchors) > INLINKS_READ:
            told = told._replace(anchors=inlinks_of(reader, uri, told.references))
        document = _document(uri.decode(), told)
        if document is not None:
            yield document


def _told(cells: Iterable[tuple[Table, Cell]]) -> _Told:
    anchors: list[tuple[bytes, bytes]] = []
    references = changed = 0
    is_loaded = is_gone = False
    doc = None
    for table, (_, family, qualifier, _, value) in cells:
        if table is Table.FLUO:
            is_gone = True
        elif table is Table.DOCS and qualifier == b"changed":
            changed = int(value)
        elif table is Table.DOCS:
            doc = value
        elif family == b"inlinks":
            if len(anchors) <= INLINKS_READ:
                anchors.append((qualifier, value))
        elif qualifier == b"incount":
            references = int(value)
        elif qualifier == b"cur":
            is_loaded = True
    return _Told(anchors, references, is_loaded, doc, changed, is_gone)


def _document(uri: str, told: _Told) -> SearchDocument | None:
    if not told.is_loaded:
        if told.is_gone or not told.references:
            return None
        return SearchDocument(uri=uri, crawled=False, references=told.references, anchors=_frequent(uri, told))
    doc = read_doc(told.doc) if told.doc is not None else Doc()
    if doc.noindex:
        return None
    return SearchDocument(
        uri=uri,
        crawled=True,
        references=told.references,
        language=language_of(doc.language),
        title=doc.title,
        description=doc.description,
        headings=doc.headings,
        text=doc.text,
        anchors=_frequent(uri, told),
        changed=told.changed,
        canonical=_canonical(doc.canonical, uri),
        simhash=doc.simhash,
    )


def _frequent(uri: str, told: _Told) -> list[str]:
    places: dict[bytes, list[int]] = {}
    for place, (_, words) in enumerate(told.anchors):
        if words:
            places.setdefault(words, []).append(place)
    ordered = sorted(places, key=lambda words: (-len(places[words]), places[words][0]))
    if len(ordered) > 50:
        ordered = _in_turns(uri, told)[:50]
    return [words.decode(errors="replace") for words in ordered]


def _in_turns(uri: str, told: _Told) -> list[bytes]:
    """What each domain says, in the order of how often, then by how many domains say it, then by a hash."""
    said = sorted((domain_of(Uri(source.decode())), words) for source, words in told.anchors if words)
    times: dict[str, list[tuple[int, int, bytes]]] = {}
    first: dict[tuple[str, bytes], int] = {}
    for at, (source, words) in enumerate(told.anchors):
        first.setdefault((domain_of(Uri(source.decode())), words), at)
    for (domain, words), group in groupby(said):
        times.setdefault(domain, []).append((-len(list(group)), first[domain, words], words))
    speakers = Counter(words for told_words in times.values() for _, _, words in told_words)
    turns = sorted(
        (turn, -speakers[words], xxh3_64_intdigest(f"{told.references} {uri} {domain}".encode()), words)
        for domain, ranked in times.items()
        for turn, (_, _, words) in enumerate(sorted(ranked))
    )
    return list(dict.fromkeys(words for *_, words in turns))


def _canonical(url: str, own: str) -> str:
    try:
        named = identity_of(url).uri if url else own
    except (UrlRefused, ValueError):
        return ""
    return named if named != own else ""


def _look_up_words(searcher: Searcher, document: SearchDocument, found: SearchVerification) -> None:
    own = Query.term_query(_SCHEMA, "uri", document.uri)
    for name, stemmer, texts in _searched(document):
        analyzer = make_analyzer(stemmer)
        for word in sorted({word for text in texts for word in analyzer.analyze(prepared(text))}):
            found.words += 1
            query = Query.term_query(_SCHEMA, name, word, "freq" if stemmer else "position")
            if not searcher.search(Query.boolean_query([(Occur.Must, own), (Occur.Must, query)]), 1).hits:
                # A page that is missing as a whole must not hide all others.
                found.add(f"{document.uri} is not found by {word!r} in {name}", EXAMPLES // 2)


def _searched(document: SearchDocument) -> Iterator[tuple[str, str, list[str]]]:
    """Field, stemmer, and the texts whose words it must hold."""
    headings = [*document.headings, *([document.description] if document.description else [])]
    yield "title", "", [document.title]
    yield "headings", "", headings
    yield "text", "", [document.text]
    yield "anchors", "", document.anchors
    yield "url", "", [document.url_text]
    if stemmer := STEMMED.get(document.language):
        yield stem_field(stemmer), stemmer, [document.title, document.text, *headings]


def _record(uri: str, side: bytes, digest: bytes) -> bytes:
    return b"".join((uri.encode(), b"\0", side, digest))


def _compare(sides: ExternalSort, found: SearchVerification) -> None:
    for uri, records in groupby(sides, key=lambda record: record[: record.index(0)]):
        told = [record[len(uri) + 1 :] for record in records]
        expected = [one[1:] for one in told if one.startswith(_EXPECTED)]
        held = [one[1:] for one in told if one.startswith(_HELD)]
        name = uri.decode(errors="replace")
        found.documents += 1
        if not held:
            found.add(f"{name} is not found by search, and should be")
        elif not expected:
            found.add(f"{name} is found by search, and should not be")
        elif len(held) > 1:
            found.add(f"{name} is in the search index {len(held)} times")
        elif held != expected:
            found.add(f"{name} is found by search as it was before")


def _searcher(shard: ShardDirectory) -> Searcher:
    path = shard.current_of_format()
    if path is None:
        raise SearchMissing(shard.path)
    return open_searcher(path)[1]

"""Reads from the store what search documents are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from xxhash import xxh3_64_intdigest

from weft.linkindex import keys
from weft.linkindex.records import UNKNOWN_URI, UriInfo, read_doc
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of
from weft.model.versions import BASES
from weft.search.document import Said, SearchDocument, make_document
from weft.store.api import Cell, Reader
from weft.store.tables import Table

_BLOCK: Final = 500
INLINKS_READ: Final = 256
"""Of a page with so many inlinks all are read, of others about as many."""
_STEP: Final = 16
"""Inlinks that are read in one place."""
_DOMAIN_STEPS: Final = 7
"""Places from the first source on, each behind the domain that the last one ended in."""
_DRAWN: Final = 17
"""Places anywhere."""
_USUAL_SUFFIXES: Final = (b"com", b"com", b"com", b"com", b"org", b"net", b"de", b"uk.co")
"""What the names of most of the web end in, reversed, about as often as they do."""
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"


class DocumentSource:
    """Documents as of the reader's view."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def documents(self, uris: Sequence[bytes]) -> list[SearchDocument | None]:
        """The document of each uri, in their order; None where there is none.

        All of them are asked for at once: in a cluster it is the asking that takes time.
        """
        infos = self._infos(uris)
        anchors = [
            inlinks_of(self._reader, uri, info.references) if info.references else []
            for uri, info in zip(uris, infos, strict=True)
        ]
        docs = self._docs([uri for uri, info in zip(uris, infos, strict=True) if info.docs])
        gone = self._gone([uri for uri, info in zip(uris, infos, strict=True) if info.references and not info.docs])
        return [
            _document(uri, info, docs.get(uri), words, is_gone=uri in gone)
            for uri, info, words in zip(uris, infos, anchors, strict=True)
        ]

    def _infos(self, uris: Sequence[bytes]) -> list[UriInfo]:
        cells = self._reader.get(Table.FLUO, [keys.uri_info_column(_domain_key(uri), uri) for uri in uris])
        return [UriInfo.decode(cell.value) if cell else UNKNOWN_URI for cell in cells]

    def _docs(self, loaded: Sequence[bytes]) -> dict[bytes, tuple[Cell | None, Cell | None]]:
        """What each page says, and when that last changed."""
        columns = [make(uri) for uri in loaded for make in (keys.doc_column, keys.doc_changed_column)]
        cells = self._reader.get(Table.DOCS, columns)
        return dict(zip(loaded, zip(cells[::2], cells[1::2], strict=True), strict=True))

    def _gone(self, known: Sequence[bytes]) -> set[bytes]:
        cells = self._reader.get(Table.FLUO, [keys.page_column(uri, keys.GONE) for uri in known])
        return {uri for uri, cell in zip(known, cells, strict=True) if cell is not None}

    def uris(self) -> Iterator[list[bytes]]:
        """Every uri that exists, in blocks. Between two of them the reader may be refreshed: then those that came
        meanwhile may be among them, and every one that was there all the time is."""
        for base in range(BASES):
            prefix = b"um:%02x:" % base
            start: bytes | None = None
            while block := list(islice(self._reader.rows(Table.FLUO, prefix, start=start), _BLOCK)):
                yield [row[len(prefix) :] for row in block]
                start = block[-1] + b"\0"


def inlinks_of(reader: Reader, target: bytes, references: int) -> list[Said]:
    """The inlinks that describe a page, in the order of their sources: all of them, or a sample of many.

    A site with many pages is read in one place: behind it another one follows. As many sites as one likes can have
    names that sort first, so most places are drawn: by the page and by how many references it has, which nobody who
    chooses names knows in advance. Most of these are among names that end in what most names do, or in what that of the
    page does: the endings that are met here may all be of one kind.
    """

    def read(limit: int, start: bytes | None = None, *, reverse: bool = False) -> list[Said]:
        cells = reader.scan(Table.QUERY, b"p:" + target, keys.INLINKS, start=start, limit=limit, reverse=reverse)
        return [(cell.qualifier, cell.value) for cell in cells]

    if references <= INLINKS_READ:
        return read(INLINKS_READ)
    found: dict[bytes, bytes] = {}
    met: set[bytes] = set()
    start: bytes | None = None
    for _ in range(_DOMAIN_STEPS):
        step = read(_STEP, start)
        found.update(step)
        if len(step) < _STEP:
            return sorted(found.items())
        met.add(_suffix(step[-1][0]))
        start = _behind_domain(step[-1][0])
    step = read(_STEP, reverse=True)
    usual = (*_USUAL_SUFFIXES, _suffix(target))
    for number in range(_DRAWN):
        found.update(step)
        met.update(_suffix(source) for source, _ in step[:1])
        drawn = xxh3_64_intdigest(b"%d %d %b" % (number, references, target))
        drawn, letters = divmod(drawn, len(_LETTERS) ** 3)
        name = bytes(_LETTERS[letters // len(_LETTERS) ** place % len(_LETTERS)] for place in range(3))
        drawn, kind = divmod(drawn, 8)
        drawn, is_backwards = divmod(drawn, 2)
        if kind > 0:
            suffixes = usual if kind > 2 else sorted(met)
            name = b"%b.%b" % (suffixes[drawn % len(suffixes)], name)
        # Whoever is right before a name is met from one side only.
        step = read(_STEP, name, reverse=bool(is_backwards))
    found.update(step)
    return sorted(found.items())


def _behind_domain(source: bytes) -> bytes:
    """Where sources of the next domain may begin. Those of one domain lie in few places: `com.a`; behind others such as
    `com.a-b`, `com.a.www` and `com.a/x`; then `com.a:81`."""
    domain = _domain_key(source)
    following = source[len(domain) : len(domain) + 1]
    if not following or not source.startswith(domain):
        return source + b"\0"
    return domain + (b"0" if following in b"./" else bytes([following[0] + 1]))


def _suffix(source: bytes) -> bytes:
    return _domain_key(source).rpartition(b".")[0]


def _document(
    uri: bytes,
    info: UriInfo,
    content: tuple[Cell | None, Cell | None] | None,
    anchors: Sequence[Said],
    *,
    is_gone: bool,
) -> SearchDocument | None:
    if not (info.references or info.docs):
        return None
    doc, changed = content or (None, None)
    return make_document(
        uri.decode(),
        info,
        read_doc(doc.value) if doc else None,
        int(changed.value) if changed else 0,
        is_gone=is_gone,
        anchors=anchors,
    )


def _domain_key(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()

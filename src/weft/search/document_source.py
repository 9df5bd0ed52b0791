"""Reads from the store what search documents are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from weft.linkindex import keys
from weft.linkindex.records import UNKNOWN_URI, UriInfo, read_doc
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of
from weft.model.versions import BASES
from weft.search.document import INLINKS_READ, SearchDocument, make_document
from weft.store.api import Cell, Reader
from weft.store.tables import Table

_BLOCK: Final = 500


class DocumentSource:
    """Documents as of the reader's view."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def documents(self, uris: Sequence[bytes]) -> list[SearchDocument | None]:
        """The document of each uri, in their order; None where there is none.

        All of them are asked for at once: in a cluster it is the asking that takes time.
        """
        infos = self._infos(uris)
        anchors = [self._anchors(uri) if info.references else () for uri, info in zip(uris, infos, strict=True)]
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

    def _anchors(self, uri: bytes) -> Iterator[bytes]:
        return (cell.value for cell in self._reader.scan(Table.QUERY, b"p:" + uri, keys.INLINKS, limit=INLINKS_READ))

    def uris(self) -> Iterator[list[bytes]]:
        """Every uri that exists, in blocks. Between two of them the reader may be refreshed: then those that came
        meanwhile may be among them, and every one that was there all the time is."""
        for base in range(BASES):
            prefix = b"um:%02x:" % base
            start: bytes | None = None
            while block := list(islice(self._reader.rows(Table.FLUO, prefix, start=start), _BLOCK)):
                yield [row[len(prefix) :] for row in block]
                start = block[-1] + b"\0"


def _document(
    uri: bytes,
    info: UriInfo,
    content: tuple[Cell | None, Cell | None] | None,
    anchors: Iterable[bytes],
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

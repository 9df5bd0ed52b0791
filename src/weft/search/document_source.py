"""Reads from the store what search documents are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        """The document of each uri, in their order; None where there is none."""
        columns = [keys.uri_info_column(_domain_key(uri), uri) for uri in uris]
        cells = self._reader.get(Table.FLUO, columns)
        infos = [UriInfo.decode(cell.value) if cell else UNKNOWN_URI for cell in cells]
        return [self._document(uri, info) for uri, info in zip(uris, infos, strict=True)]

    def _document(self, uri: bytes, info: UriInfo) -> SearchDocument | None:
        if not (info.references or info.docs):
            return None
        doc: Cell | None = None
        changed: Cell | None = None
        if info.docs:
            doc, changed = self._reader.get(Table.DOCS, [keys.doc_column(uri), keys.doc_changed_column(uri)])
        gone = None if info.docs else self._reader.get(Table.FLUO, [keys.page_column(uri, keys.GONE)])[0]
        return make_document(
            uri.decode(),
            info,
            read_doc(doc.value) if doc else None,
            int(changed.value) if changed else 0,
            is_gone=gone is not None,
            anchors=self._anchors(uri) if info.references else (),
        )

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


def _domain_key(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()

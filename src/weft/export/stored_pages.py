"""The uris that exist, each with the cells that tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from weft.dispatcher.link_records import link_column
from weft.export.sources import page_rows, ranks
from weft.linkindex import keys
from weft.model.domain import Domain, reversed_domain
from weft.model.url import Uri, domain_of
from weft.model.versions import BASES
from weft.store.api import Reader
from weft.store.tables import Table

_AT_ONCE: Final = 16
"""Pages that are looked up together: few, for a page may have megabytes of links."""

Value = TypeVar("Value")


class StoredPage(NamedTuple):
    """A uri that exists and its cells as they are stored."""

    uri: bytes
    info: bytes
    columns: dict[bytes, bytes]
    doc: bytes | None
    link: bytes | None = None
    """What the crawl knows of it."""


def all_pages(reader: Reader) -> Iterator[StoredPage]:
    """In the order of uris. Everything is read from its beginning to its end; only link records are looked up."""
    columns, docs = _Alongside(page_rows(reader)), _Alongside(_docs(reader))
    infos = merge(*(_infos(reader, base) for base in range(BASES)))
    pages = (StoredPage(uri, info, columns.at(uri) or {}, docs.at(uri)) for uri, info in infos)
    while some := list(islice(pages, _AT_ONCE)):
        yield from _with_links(reader, some)


def pages_in(reader: Reader, domains: Sequence[Domain]) -> Iterator[StoredPage]:
    """Domain by domain, the most referenced first."""
    for domain in domains:
        name = reversed_domain(domain).encode()
        remaining = (uri for _, uri in ranks(reader, domain))
        while some := list(islice(remaining, _AT_ONCE)):
            yield from _with_links(reader, _looked_up(reader, name, some))


class _Alongside(Generic[Value]):
    """A second list in the order of uris, followed while the first one is walked."""

    def __init__(self, pairs: Iterator[tuple[bytes, Value]]) -> None:
        self._pairs = pairs
        self._next = next(pairs, None)

    def at(self, uri: bytes) -> Value | None:
        while self._next is not None and self._next[0] < uri:
            self._next = next(self._pairs, None)
        return self._next[1] if self._next is not None and self._next[0] == uri else None


def _with_links(reader: Reader, pages: Iterable[StoredPage]) -> Iterator[StoredPage]:
    pages = list(pages)
    cells = reader.get(Table.LINKS, [link_column(_domain_key(page.uri), page.uri) for page in pages])
    return (page._replace(link=cell.value if cell else None) for page, cell in zip(pages, cells, strict=True))


def _domain_key(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()


def _infos(reader: Reader, base: int) -> Iterator[tuple[bytes, bytes]]:
    prefix = b"um:%02x:" % base
    return ((cell.row[len(prefix) :], cell.value) for cell in reader.scan_rows(Table.FLUO, prefix))


def _docs(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    docs = reader.scan_rows(Table.DOCS, b"x:")
    return ((cell.row[len(b"x:") :], cell.value) for cell in docs if not cell.qualifier)


def _looked_up(reader: Reader, domain: bytes, uris: list[bytes]) -> Iterator[StoredPage]:
    names = (keys.CUR, keys.VERSION, keys.GONE)
    infos = reader.get(Table.FLUO, [keys.uri_info_column(domain, uri) for uri in uris])
    columns = reader.get(Table.FLUO, [keys.page_column(uri, name) for uri in uris for name in names])
    docs = reader.get(Table.DOCS, [keys.doc_column(uri) for uri in uris])
    for number, (uri, info, doc) in enumerate(zip(uris, infos, docs, strict=True)):
        found = columns[number * len(names) : (number + 1) * len(names)]
        if info is not None:
            held = {cell.qualifier: cell.value for cell in found if cell is not None}
            yield StoredPage(uri, info.value, held, doc.value if doc else None)

"""Which pages' references are read: every page's, or those of the pages that have to do with some domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from weft.linkindex import keys
from weft.linkindex.derived import PAGES
from weft.linkindex.external_sort import ExternalSort
from weft.model.domain import Domain, reversed_domain
from weft.store.api import Reader
from weft.store.encoding import split_descending
from weft.store.tables import Table

SORT_MEMORY: Final = 64 << 20
_AT_ONCE: Final = 16
"""Pages that are looked up together: few, for a page may have megabytes of links."""
_SORTED_AT_ONCE: Final = 10_000


class Source(NamedTuple):
    """A page that may reference others, as it is stored."""

    uri: bytes
    cur: bytes
    since: bytes | None


def page_rows(reader: Reader) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    """(uri, its `page` columns) of every page that was ever loaded or deleted, in the order of uris."""
    for row, cells in groupby(reader.scan_rows(Table.FLUO, PAGES), key=itemgetter(0)):
        yield row[len(PAGES) :], {cell.qualifier: cell.value for cell in cells}


def all_sources(reader: Reader) -> Iterator[Source]:
    for uri, columns in page_rows(reader):
        if keys.CUR in columns:
            yield Source(uri, columns[keys.CUR], columns.get(keys.SINCE))


def sources_in(reader: Reader, domains: Sequence[Domain], directory: Path) -> Iterator[Source]:
    """The pages of these domains, in the order of uris."""
    with ExternalSort(directory, SORT_MEMORY) as uris:
        for domain in domains:
            for _, uri in ranks(reader, domain):
                uris.add(uri)
        yield from _looked_up(reader, uris)


def sources_of_references_to(reader: Reader, domains: Sequence[Domain], directory: Path) -> Iterator[Source]:
    """The pages that reference a page of these domains, each once and in the order of uris."""
    with ExternalSort(directory, SORT_MEMORY) as uris:
        for domain in domains:
            for references, uri in ranks(reader, domain):
                if references:
                    _add_all(uris, (cell.qualifier for cell in reader.scan(Table.QUERY, b"p:" + uri, keys.INLINKS)))
        yield from _looked_up(reader, (uri for uri, _ in groupby(uris)))


def ranks(reader: Reader, domain: Domain) -> Iterator[tuple[int, bytes]]:
    """(references, uri) of the domain's uris, the most referenced first."""
    row = b"d:" + reversed_domain(domain).encode()
    return (split_descending(cell.qualifier) for cell in reader.scan(Table.QUERY, row, keys.RANK))


def _add_all(sort: ExternalSort, uris: Iterator[bytes]) -> None:
    while some := list(islice(uris, _SORTED_AT_ONCE)):
        sort.extend(some)


def _looked_up(reader: Reader, uris: Iterable[bytes]) -> Iterator[Source]:
    remaining = iter(uris)
    while some := list(islice(remaining, _AT_ONCE)):
        columns = [keys.page_column(uri, name) for uri in some for name in (keys.CUR, keys.SINCE)]
        cells = reader.get(Table.FLUO, columns)
        for uri, cur, since in zip(some, cells[::2], cells[1::2], strict=True):
            if cur is not None:
                yield Source(uri, cur.value, since.value if since else None)

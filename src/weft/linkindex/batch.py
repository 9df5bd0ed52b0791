"""The whole link index in one go, computed from the pages alone: the judge of what the observers keep.

1. Every page gives its references, grouped by target; the page itself is a target too.
2. A walk over them counts what is known of each uri; the cells of uris are sorted by key.
3. A walk over the ranks counts the domains; the cells of domains are sorted by key.
4. All of it is given out in key order; the rows of pages come from a second walk over the references.

Nothing is held per uri or domain: memory is bounded by the sorts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from weft.errors import WeftError
from weft.linkindex import keys
from weft.linkindex.derived import Pair, Progress, current_pages
from weft.linkindex.external_sort import MEMORY, ExternalSort
from weft.linkindex.inlinks import InlinkCount, Inlinks, InlinkSort
from weft.linkindex.records import DomainInfo, Totals, UriInfo, decode_page
from weft.model.domain import Domain, reversed_domain
from weft.model.url import Uri, UrlRefused, domain_of, identity_of
from weft.model.versions import BASES
from weft.store.api import Reader
from weft.store.encoding import END

_TELL_EVERY: Final = 1000
_COLUMN: Final = 256
"""Cells that are handed on at once, about."""

Columns: TypeAlias = tuple[list[bytes], list[bytes]]
"""Keys and values of some cells."""
Counted: TypeAlias = Inlinks | InlinkCount


class PageUnreadable(WeftError):  # noqa: N818 - the state of a cell, as with the store's errors
    """A page:cur is not what weft writes there."""

    def __init__(self, uri: bytes, error: Exception) -> None:
        super().__init__(f"fluo p:{uri.decode(errors='replace')} page:cur cannot be read: {error}")


class PagesMoved(WeftError):  # noqa: N818
    """The pages changed while they were read twice."""

    def __init__(self, uri: bytes) -> None:
        shown = uri.decode(errors="replace")
        super().__init__(f"the pages changed at {shown} while they were counted; expected a reader that holds still")


def expected_cells(
    reader: Reader, count: str, directory: Path, *, memory: int = MEMORY, progress: Progress | None = None
) -> Iterator[Pair]:
    """Every derived cell that the pages of `reader` call for, in strictly ascending key order.

    `count` is the setting: "all" references, or "external" ones only. Large sorts use `directory`; memory stays below
    about twice `memory` bytes. The reader must hold still meanwhile.
    """
    with InlinkSort(directory, memory) as references:
        _read_references(reader, count, references, progress)
        for columns in derived_columns(references, current_pages(reader), directory, memory=memory):
            yield from zip(*columns, strict=True)


def derived_columns(
    references: InlinkSort, pages: Iterator[Pair], directory: Path, *, memory: int = MEMORY
) -> Iterator[Columns]:
    """Every derived cell in key order, from the references by target and the (uri, page:cur) of all pages in order."""
    with ExitStack() as open_sorts:

        def sort(share: int) -> ExternalSort:
            return open_sorts.enter_context(ExternalSort(directory, memory // share))

        infos, ranks, totals = sort(4), sort(4), sort(4)
        _count_uris(references.counts(), infos, ranks, totals)
        domains, pagecounts = sort(8), sort(8)
        _count_domains(ranks, domains, pagecounts)
        yield from _in_columns(map(_as_cell, chain(domains, infos)))
        yield from _in_columns(_domain_rows(pagecounts, ranks))
        yield from _page_rows(references, pages)
        yield from _in_columns(map(_as_cell, totals))


def _read_references(reader: Reader, count: str, references: InlinkSort, progress: Progress | None) -> None:
    is_external = {"all": False, "external": True}[count]
    number = 0
    for number, (uri, cur) in enumerate(current_pages(reader), 1):
        try:
            references.add(_checked(uri), *_references_of(uri, cur, is_external))
        except (msgspec.DecodeError, UrlRefused, ValueError) as error:
            raise PageUnreadable(uri, error) from error
        if progress and number % _TELL_EVERY == 0:
            progress("pages", number)
    if progress:
        progress("pages", number)


def _references_of(source: bytes, cur: bytes, is_external: bool) -> tuple[list[bytes], list[bytes], list[bool]]:
    """Targets, anchors, and whether each says http."""
    links = decode_page(cur).outlinks
    if is_external:
        home = domain_of(Uri(source.decode()))
        links = [link for link in links if _identity(link.url)[1] != home]
    targets = [_identity(link.url)[0] for link in links]
    if len(set(targets)) != len(targets):
        # The first one counts, should a page name a target twice.
        first = dict(zip(reversed(targets), reversed(links), strict=True))
        targets, links = list(first), list(first.values())
    return targets, [link.anchor.encode() for link in links], [link.url.startswith("http:") for link in links]


@lru_cache(maxsize=65_536)
def _identity(url: str) -> tuple[bytes, Domain]:
    """Uri and domain. The pages of a site come one after another and mostly link to the same places."""
    page = identity_of(url)
    return _checked(page.uri.encode()), page.domain


def _checked(uri: bytes) -> bytes:
    if not uri or 0 in uri or not uri.isascii():
        raise ValueError(f"{uri!r} is no uri; expected ASCII without a zero byte")
    return uri


@lru_cache(maxsize=4_096)
def _reversed(domain: Domain) -> bytes:
    return reversed_domain(domain).encode()


def _count_uris(references: Iterable[Counted], infos: ExternalSort, ranks: ExternalSort, totals: ExternalSort) -> None:
    for uri, info in _uri_infos(references):
        domain = _reversed(domain_of(Uri(uri.decode())))
        number = b"%d" % info.references
        infos.add(_as_record(keys.uri_info(domain, uri), info.encode()))
        ranks.add(_as_record(keys.rank(domain, info.references, uri), number))
        totals.add(_as_record(keys.total(info.references, uri), number))


def _uri_infos(references: Iterable[Counted]) -> Iterator[tuple[bytes, UriInfo]]:
    uri, known, plain, docs = b"", 0, 0, 0
    for piece in references:
        if piece.uri != uri:
            if uri:
                yield uri, UriInfo(known, plain, docs)
            uri, known, plain, docs = piece.uri, 0, 0, 0
        known += piece.references
        plain += piece.plain
        docs += piece.is_page
    if uri:
        yield uri, UriInfo(known, plain, docs)


def _count_domains(ranks: Iterable[bytes], domains: ExternalSort, pagecounts: ExternalSort) -> None:
    of_bases = [Totals()] * BASES
    for domain, info in _domain_infos(ranks):
        value = info.encode()
        domains.add(_as_record(keys.domain_info(domain), value))
        domains.add(_as_record(keys.by_pages(info.pages, domain), value))
        domains.add(_as_record(keys.by_references(info.references, domain), value))
        pagecounts.add(_as_record(keys.pagecount(domain), b"%d" % info.pages))
        base = keys.base_of(domain)
        before = of_bases[base]
        of_bases[base] = Totals(before.domains + 1, before.pages + info.pages, before.references + info.references)
    for base, totals in enumerate(of_bases):
        if totals.domains:
            domains.add(_as_record(keys.totals(base), totals.encode()))


def _domain_infos(ranks: Iterable[bytes]) -> Iterator[tuple[bytes, DomainInfo]]:
    for row, group in groupby(map(_as_cell, ranks), key=_row_of):
        pages = known = 0
        for _, references in group:
            pages += 1
            known += int(references)
        yield row[len(b"qd:") :], DomainInfo(pages, known)


def _row_of(cell: Pair) -> bytes:
    """Table and row; the row holds no zero byte."""
    return cell[0][: cell[0].index(END)]


def _domain_rows(pagecounts: Iterable[bytes], ranks: Iterable[bytes]) -> Iterator[Pair]:
    """A domain's pagecount sorts before its ranks, and says how many there are."""
    remaining = iter(ranks)
    for record in pagecounts:
        key, pages = _as_cell(record)
        yield key, pages
        yield from map(_as_cell, islice(remaining, int(pages)))


def _in_columns(cells: Iterable[Pair]) -> Iterator[Columns]:
    remaining = iter(cells)
    while block := list(islice(remaining, _COLUMN)):
        yield [key for key, _ in block], [value for _, value in block]


def _page_rows(references: Iterable[Inlinks], pages: Iterator[Pair]) -> Iterator[Columns]:
    """The rows of all uris; whole lists at a time, for this sees every reference."""
    names: list[bytes] = []
    values: list[bytes] = []
    uri, inlinks, known, cur = b"", b"", 0, None
    for target, count, _, is_page, sources, anchors in references:
        if target != uri:
            if uri:
                _add_page_columns(names, values, uri, known, cur)
            uri, inlinks, known, cur = target, keys.inlink(target, b""), 0, None
        if is_page:
            cur = _cur_of(uri, pages)
        known += count
        names += [inlinks + source for source in sources]
        values += anchors
        if len(names) >= _COLUMN:
            yield names, values
            names, values = [], []
    if uri:
        _add_page_columns(names, values, uri, known, cur)
        yield names, values


def _cur_of(uri: bytes, pages: Iterator[Pair]) -> bytes:
    found, cur = next(pages, (b"", b""))
    if found != uri:
        raise PagesMoved(uri)
    return cur


def _add_page_columns(names: list[bytes], values: list[bytes], uri: bytes, references: int, cur: bytes | None) -> None:
    if cur is not None:
        names.append(keys.query_cur(uri))
        values.append(cur)
    names += (keys.incount(uri), keys.score(uri))
    values += (b"%d" % references, b"%d" % (references + (cur is not None)))


def _as_record(key: bytes, value: bytes) -> bytes:
    """A cell whose value holds no END; no key here goes on with END where another one stops."""
    return b"%b%b%b" % (key, END, value)


def _as_cell(record: bytes) -> Pair:
    end = record.rindex(END)
    return record[:end], record[end + 2 :]

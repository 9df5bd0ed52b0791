"""The whole link index in one go, computed from the pages alone: the judge of what the observers keep.

1. Every page gives one record for itself and one per reference, sorted by (target, source).
2. A walk over them counts what is known of each uri; the cells of uris are sorted by key.
3. A walk over the ranks counts the domains; the cells of domains are sorted by key.
4. All of it is given out in key order; the rows of pages come from a second walk over the references.

Nothing is held per uri or domain: memory is bounded by the sorts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Final

import msgspec

from weft.errors import WeftError
from weft.linkindex import keys
from weft.linkindex.derived import Pair, Progress, current_pages
from weft.linkindex.external_sort import MEMORY, ExternalSort
from weft.linkindex.records import DomainInfo, Totals, UriInfo, decode_page
from weft.model.domain import Domain, reversed_domain
from weft.model.url import Uri, UrlRefused, domain_of, identity_of
from weft.store.api import Reader
from weft.store.encoding import END

# A reference is `target 0 source 0 anchor scheme`; a page itself is `uri 0 0`, before the references to it. Uris hold
# no 0x00 and are not empty, so that the order of records is the order of (target, source).
_ZERO: Final = b"\0"
_PLAIN, _SECURE = b"h", b"s"
_PLAIN_END: Final = _PLAIN[0]

_TELL_EVERY: Final = 1000


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
    with ExitStack() as open_sorts:

        def sort(share: int) -> ExternalSort:
            return open_sorts.enter_context(ExternalSort(directory, memory // share))

        references = sort(1)
        _read_references(reader, count, references, progress)
        infos, ranks, totals = sort(4), sort(4), sort(4)
        _count_uris(references, infos, ranks, totals)
        domains, pagecounts = sort(8), sort(8)
        _count_domains(ranks, domains, pagecounts)
        yield from map(_as_cell, domains)
        yield from map(_as_cell, infos)
        yield from _domain_rows(pagecounts, ranks)
        yield from _page_rows(references, current_pages(reader))
        yield from map(_as_cell, totals)


def _read_references(reader: Reader, count: str, references: ExternalSort, progress: Progress | None) -> None:
    is_external = {"all": False, "external": True}[count]
    number = 0
    for number, (uri, cur) in enumerate(current_pages(reader), 1):
        try:
            references.extend([uri + _ZERO + _ZERO, *_references_of(uri, cur, is_external)])
        except (msgspec.DecodeError, UrlRefused, ValueError) as error:
            raise PageUnreadable(uri, error) from error
        if progress and number % _TELL_EVERY == 0:
            progress("pages", number)
    if progress:
        progress("pages", number)


def _references_of(source: bytes, cur: bytes, is_external: bool) -> Iterable[bytes]:
    infix = b"%b%b%b" % (_ZERO, _without_zero(source), _ZERO)
    home = domain_of(Uri(source.decode()))
    links = decode_page(cur).outlinks
    if is_external:
        links = [link for link in links if _identity(link.url)[1] != home]
    targets = [_identity(link.url)[0] for link in links]
    records = [
        b"".join((target, infix, link.anchor.encode(), _PLAIN if link.url.startswith("http:") else _SECURE))
        for target, link in zip(targets, links, strict=True)
    ]
    if len(set(targets)) == len(targets):
        return records
    # The first one counts, should a page name a target twice.
    return dict(zip(reversed(targets), reversed(records), strict=True)).values()


@lru_cache(maxsize=65_536)
def _identity(url: str) -> tuple[bytes, Domain]:
    """Uri and domain. The pages of a site come one after another and mostly link to the same places."""
    page = identity_of(url)
    return _without_zero(page.uri.encode()), page.domain


def _without_zero(uri: bytes) -> bytes:
    if 0 in uri:
        raise ValueError(f"{uri!r} is no uri; expected no zero byte")
    return uri


@lru_cache(maxsize=4_096)
def _reversed(domain: Domain) -> bytes:
    return reversed_domain(domain).encode()


def _count_uris(references: Iterable[bytes], infos: ExternalSort, ranks: ExternalSort, totals: ExternalSort) -> None:
    for uri, info in _uri_infos(references):
        domain = _reversed(domain_of(Uri(uri.decode())))
        number = b"%d" % info.references
        infos.add(_as_record(keys.uri_info(domain, uri), info.encode()))
        ranks.add(_as_record(keys.rank(domain, info.references, uri), number))
        totals.add(_as_record(keys.total(info.references, uri), number))


def _uri_infos(references: Iterable[bytes]) -> Iterator[tuple[bytes, UriInfo]]:
    prefix, known, plain, docs = _ZERO, 0, 0, 0
    for record in references:
        if not record.startswith(prefix):
            if known or docs:
                yield prefix[:-1], UriInfo(known, plain, docs)
            prefix, known, plain, docs = record[: record.index(0) + 1], 0, 0, 0
        end = record[-1]
        if end:
            known += 1
            plain += end == _PLAIN_END
        else:
            docs = 1
    if known or docs:
        yield prefix[:-1], UriInfo(known, plain, docs)


def _count_domains(ranks: Iterable[bytes], domains: ExternalSort, pagecounts: ExternalSort) -> None:
    of_bases = [Totals()] * keys.BASES
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


def _page_rows(references: Iterable[bytes], pages: Iterator[Pair]) -> Iterator[Pair]:
    uri, inlinks, known, cur = b"", b"", 0, None
    for record in references:
        target, source, tail = record.split(_ZERO, 2)
        if target != uri:
            if uri:
                yield from _page_columns(uri, known, cur)
            uri, inlinks, known, cur = target, keys.inlink(target, b""), 0, None
        if source:
            known += 1
            yield inlinks + source, tail[:-1]
        else:
            cur = _cur_of(uri, pages)
    if uri:
        yield from _page_columns(uri, known, cur)


def _cur_of(uri: bytes, pages: Iterator[Pair]) -> bytes:
    found, cur = next(pages, (b"", b""))
    if found != uri:
        raise PagesMoved(uri)
    return cur


def _page_columns(uri: bytes, references: int, cur: bytes | None) -> Iterator[Pair]:
    if cur is not None:
        yield keys.query_cur(uri), cur
    yield keys.incount(uri), b"%d" % references
    yield keys.score(uri), b"%d" % (references + (cur is not None))


def _as_record(key: bytes, value: bytes) -> bytes:
    """A cell whose value holds no END; no key here goes on with END where another one stops."""
    return b"%b%b%b" % (key, END, value)


def _as_cell(record: bytes) -> Pair:
    end = record.rindex(END)
    return record[:end], record[end + 2 :]

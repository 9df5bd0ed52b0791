"""From a request to rows: what is read, in blocks, and how many rows there will be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from weft.answers.view import View
from weft.errors import NotKnown
from weft.export.columns import Block
from weft.export.links import Wanted, link_blocks
from weft.export.pages import page_blocks
from weft.export.request import Direction, ExportRequest, Subject
from weft.export.sources import all_sources, sources_in, sources_of_references_to
from weft.export.stored_pages import all_pages, pages_in
from weft.linkindex import keys
from weft.linkindex.records import DomainInfo
from weft.model.domain import Domain, plain_domain, reversed_domain
from weft.store.api import Reader
from weft.store.encoding import split_descending
from weft.store.tables import Table

BLOCK_ROWS: Final = 50_000


class Plan(NamedTuple):
    seq: int
    counting: str
    total: int | None
    """Rows that there are before `since` and `limit` choose among them; None: not known before they are read."""
    blocks: Iterator[Block]


def plan(reader: Reader, request: ExportRequest, directory: Path) -> Plan:
    """What `request` means for this view of the store; raises NotKnown for a domain of which no page is known.

    The reader must hold still until the last block. Large sorts use `directory`.
    """
    view = View(reader)
    infos = {domain: _info(view, domain) for domain in request.domains}
    total, blocks = {Subject.LINKS: _links, Subject.PAGES: _pages, Subject.DOMAINS: _domains}[request.subject](
        view, request, infos, directory
    )
    return Plan(view.seq, view.counting, total, _limited(blocks, request.limit))


_Infos = dict[Domain, DomainInfo]
_Rows = tuple[int | None, Iterator[Block]]


def _links(view: View, request: ExportRequest, infos: _Infos, directory: Path) -> _Rows:
    wanted = Wanted(external_only=view.counting == "external", since=request.since)
    reader, domains = view.reader, request.domains
    if not domains:
        return view.totals().references, link_blocks(reader, all_sources(reader), wanted)
    if request.direction is Direction.OUT:
        return None, link_blocks(reader, sources_in(reader, domains, directory), wanted)
    total = sum(info.references for info in infos.values())
    sources = sources_of_references_to(reader, domains, directory)
    return total, link_blocks(reader, sources, wanted._replace(targets=frozenset(domains)))


def _pages(view: View, request: ExportRequest, infos: _Infos, _: Path) -> _Rows:
    if not infos:
        return view.totals().pages, page_blocks(all_pages(view.reader), request.since)
    total = sum(info.pages for info in infos.values())
    return total, page_blocks(pages_in(view.reader, request.domains), request.since)


def _domains(view: View, _: ExportRequest, infos: _Infos, __: Path) -> _Rows:
    if infos:
        return len(infos), _domain_blocks((domain, *info) for domain, info in infos.items())
    cells = view.reader.scan_rows(Table.DOMAINS, b"p:")
    rows = ((plain_domain(split_descending(c.row[2:])[1].decode()), *DomainInfo.decode(c.value)) for c in cells)
    return view.totals().domains, _domain_blocks(rows)


def _domain_blocks(rows: Iterable[tuple[Domain, int, int]]) -> Iterator[Block]:
    remaining = iter(rows)
    while some := list(islice(remaining, BLOCK_ROWS)):
        yield Block(list(zip(*some, strict=True)), len(some))


def _info(view: View, domain: Domain) -> DomainInfo:
    stored = view.value(Table.FLUO, keys.domain_info_column(reversed_domain(domain).encode()))
    if stored is None:
        raise NotKnown(f"no pages of {domain} are known; `weft domains` lists the known domains")
    return DomainInfo.decode(stored)


def _limited(blocks: Iterator[Block], limit: int | None) -> Iterator[Block]:
    if limit is None:
        yield from blocks
        return
    for block in blocks:
        yield block.first(limit)
        limit -= min(limit, block.rows)
        if not limit:
            return

"""What the query and domains tables hold, as a pure function of state; an update is the difference of two results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from weft.linkindex import keys
from weft.linkindex.records import DomainInfo, UriInfo
from weft.linkindex.updates import Updates

Cells: TypeAlias = dict[bytes, bytes | None]
"""Encoded key -> value, None to delete."""


def uri_cells(uri: bytes, domain: bytes, info: UriInfo) -> dict[bytes, bytes]:
    """All that the query table holds because of a uri's info."""
    references, _, docs = info
    if not (references or docs):
        return {}
    count = b"%d" % references
    return {
        keys.incount(uri): count,
        keys.score(uri): b"%d" % (references + docs),
        keys.rank(domain, references, uri): count,
        keys.total(references, uri): count,
    }


def domain_cells(domain: bytes, info: DomainInfo) -> dict[bytes, bytes]:
    """All that the query and domains tables hold because of a domain's info."""
    pages, references = info
    if not pages:
        return {}
    return {
        keys.pagecount(domain): b"%d" % pages,
        keys.by_pages(pages, domain): info.encode(),
        keys.by_references(references, domain): info.encode(),
    }


def difference(before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]) -> Cells:
    """What to write so that `after` stands where `before` stood."""
    cells: Cells = dict.fromkeys(before.keys() - after.keys())
    cells.update({key: value for key, value in after.items() if before.get(key) != value})
    return cells


def query_cells(updates: Updates) -> Cells:
    """What a round changes in the query and domains tables."""
    cells: Cells = {keys.query_cur(uri): cur or None for uri, _, cur in updates.pages}
    begin, middle = keys.INLINK_PARTS
    # Keys made in place, this sees every link; in order, for a reference may have come and gone in one round.
    cells.update(
        {
            b"".join((begin, target, middle, source)): anchor if step >= 0 else None
            for target, _, source, step, _, anchor, _ in updates.links
        }
    )
    for uri, domain, before, after in updates.uris:
        write_uri_difference(cells, uri, domain, before, after)
    for domain, was, is_now in updates.domains:
        write_domain_difference(cells, domain, was, is_now)
    return cells


def write_uri_difference(cells: Cells, uri: bytes, domain: bytes, before: UriInfo, after: UriInfo) -> None:
    """difference(uri_cells(before), uri_cells(after)), written out: there is one for nearly every link."""
    (was, _, had_docs), (references, _, docs) = before, after
    existed, exists = was or had_docs, references or docs
    moved = was != references
    if existed and (moved or not exists):
        rank, total = keys.rank_and_total(domain, was, uri)
        cells[rank] = cells[total] = None
    if not exists:
        if existed:
            cells[keys.incount(uri)] = cells[keys.score(uri)] = None
        return
    count = b"%d" % references
    if moved or not existed:
        rank, total = keys.rank_and_total(domain, references, uri)
        cells[rank] = cells[total] = cells[keys.incount(uri)] = count
    if not existed or was + had_docs != references + docs:
        cells[keys.score(uri)] = b"%d" % (references + docs)


def write_domain_difference(cells: Cells, domain: bytes, before: DomainInfo, after: DomainInfo) -> None:
    """difference(domain_cells(before), domain_cells(after)), written out likewise."""
    (was, had), (pages, references) = before, after
    if before == after:
        return
    if was and was != pages:
        cells[keys.by_pages(was, domain)] = None
    if was and (had != references or not pages):
        cells[keys.by_references(had, domain)] = None
    if not pages:
        if was:
            cells[keys.pagecount(domain)] = None
        return
    value = b"%d %d" % (pages, references)
    cells[keys.by_pages(pages, domain)] = cells[keys.by_references(references, domain)] = value
    if was != pages:
        cells[keys.pagecount(domain)] = b"%d" % pages

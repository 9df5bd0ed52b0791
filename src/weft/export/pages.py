"""Rows of pages: every uri that exists, loaded or known by references only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from weft.answers.page_facts import facts_of, unloaded_url
from weft.answers.page_state import NO_FACTS
from weft.dispatcher.link_records import decode_record
from weft.export.columns import Block
from weft.export.stored_pages import StoredPage
from weft.linkindex import keys
from weft.linkindex.batch import PageUnreadable
from weft.linkindex.records import UriInfo, Version, decode_address, read_facts
from weft.model.page_state import PageState
from weft.model.url import Uri, domain_of

BLOCK_ROWS: Final = 20_000
BLOCK_CHARACTERS: Final = 16 << 20
"""Texts that a block may hold, whatever the number of its rows."""


class _Row(NamedTuple):
    """In the order of the exported columns."""

    uri: str
    url: str
    domain: str
    references: int
    score: int
    crawled: bool
    state: PageState
    reason: str | None
    failing_since: int | None
    fetched: int | None
    next_due: int | None
    status: int | None
    type: str | None
    bytes: int | None
    depth: int | None
    redirect: str | None
    canonical: str | None
    robots: str | None
    title: str | None
    h1: str | None
    language: str | None
    description: str | None
    outlinkcount: int | None
    left_out: int | None

    @property
    def size(self) -> int:
        """Characters of what a page chooses itself."""
        return sum(len(text or "") for text in (self.title, self.h1, self.description, self.canonical, self.redirect))


def page_blocks(states: Iterable[StoredPage], since: int | None) -> Iterator[Block]:
    rows: list[_Row] = []
    size = done = 0
    for state in states:
        row = _row(state)
        done += 1
        if since is None or (row.fetched is not None and row.fetched >= since):
            rows.append(row)
            size += row.size
        if done >= BLOCK_ROWS or size >= BLOCK_CHARACTERS:
            yield _block(rows, done)
            rows, size, done = [], 0, 0
    yield _block(rows, done)


def _block(rows: list[_Row], done: int) -> Block:
    return Block(list(zip(*rows, strict=True)) if rows else [()] * len(_Row._fields), done)


def _row(page: StoredPage) -> _Row:
    try:
        return _decoded(page)
    except (KeyError, ValueError) as error:
        raise PageUnreadable(page.uri, error) from error


def _decoded(page: StoredPage) -> _Row:
    uri, info, gone = Uri(page.uri.decode()), UriInfo.decode(page.info), page.columns.get(keys.GONE)
    link = decode_record(page.link) if page.link else None
    doc = read_facts(page.doc) if page.doc else NO_FACTS
    facts = facts_of(link, doc, is_loaded=bool(info.docs), is_deleted=gone is not None)
    address = decode_address(page.columns[keys.CUR]) if info.docs else None
    seen = page.columns[keys.VERSION] if info.docs else gone
    return _Row(
        uri=uri,
        url=address.url if address else unloaded_url(uri, info, link),
        domain=domain_of(uri),
        references=info.references,
        score=info.references + info.docs,
        crawled=bool(info.docs),
        state=facts.state,
        reason=facts.reason,
        failing_since=facts.failing_since,
        fetched=Version.decode(seen).fetched if seen else None,
        next_due=facts.next_due,
        status=facts.status,
        type=facts.type,
        bytes=facts.bytes,
        depth=facts.depth,
        redirect=facts.redirect,
        canonical=facts.canonical,
        robots=facts.robots,
        title=address.title if address else None,
        h1=facts.h1,
        language=doc.language if address else None,
        description=doc.description if address else None,
        outlinkcount=address.outlinkcount if address else None,
        left_out=address.left_out if address else None,
    )

"""Rows of pages: every uri that exists, loaded or known by references only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
from zstandard import ZstdDecompressor

from weft.answers.page_state import state_of
from weft.answers.view import guessed_url
from weft.dispatcher.link_records import decode_record
from weft.export.columns import Block
from weft.export.stored_pages import StoredPage
from weft.linkindex import keys
from weft.linkindex.batch import PageUnreadable
from weft.linkindex.records import UriInfo, Version, decode_address
from weft.model.page_state import PageState
from weft.model.url import Uri, domain_of

BLOCK_ROWS: Final = 20_000
BLOCK_CHARACTERS: Final = 16 << 20
"""Titles and descriptions that a block may hold, whatever the number of its rows."""
_LONGEST_DOC: Final = 64 << 20


class _About(msgspec.Struct, frozen=True):
    """What an export tells of a page's doc; its text is passed over."""

    description: str = ""
    language: str = ""


_decode_about: Final = msgspec.msgpack.Decoder(_About).decode
_decompress: Final = ZstdDecompressor().decompress


class _Row(NamedTuple):
    """In the order of the exported columns."""

    uri: str
    url: str
    domain: str
    references: int
    score: int
    crawled: bool
    state: PageState
    fetched: int | None
    title: str | None
    outlinkcount: int | None
    language: str | None
    description: str | None
    left_out: int | None


def page_blocks(states: Iterable[StoredPage], since: int | None) -> Iterator[Block]:
    rows: list[_Row] = []
    size = done = 0
    for state in states:
        row = _row(state)
        done += 1
        if since is None or (row.fetched is not None and row.fetched >= since):
            rows.append(row)
            size += len(row.title or "") + len(row.description or "")
        if done >= BLOCK_ROWS or size >= BLOCK_CHARACTERS:
            yield _block(rows, done)
            rows, size, done = [], 0, 0
    yield _block(rows, done)


def _block(rows: list[_Row], done: int) -> Block:
    return Block(list(zip(*rows, strict=True)) if rows else [()] * len(_Row._fields), done)


def _row(page: StoredPage) -> _Row:
    uri, info = Uri(page.uri.decode()), UriInfo.decode(page.info)
    known = (domain_of(uri), info.references, info.references + info.docs, bool(info.docs))
    try:
        if info.docs:
            url, *told = _loaded(page)
            return _Row(uri, url, *known, PageState.PAGE, *told)
        gone = page.columns.get(keys.GONE)
        state = state_of(decode_record(page.link) if page.link else None, is_loaded=False, is_deleted=bool(gone))
        fetched = Version.decode(gone).fetched if gone else None
        return _Row(uri, guessed_url(uri, info), *known, state, fetched, *[None] * 5)
    except (KeyError, ValueError) as error:
        raise PageUnreadable(page.uri, error) from error


def _loaded(page: StoredPage) -> tuple[Any, ...]:
    """URL, time, title, number of outlinks, language, description, and links that were left out."""
    address = decode_address(page.columns[keys.CUR])
    fetched = Version.decode(page.columns[keys.VERSION]).fetched
    about = _decode_about(_decompress(page.doc, max_output_size=_LONGEST_DOC)) if page.doc else _About()
    texts = about.language, about.description
    return address.url, fetched, address.title, address.outlinkcount, *texts, address.left_out

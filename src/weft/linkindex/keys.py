"""Where everything of the link index lies: the encoded keys of its cells, and the store's columns for reading them.

A uri is ASCII without 0x00 (the URL standard escapes the rest), a domain too, and a count is encoded without 0x00: so
nothing here needs escaping, and keys are made by joining bytes. Domains are in reversed form (`com.c`), as bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from zlib import crc32

from weft.model.versions import BASES
from weft.store.api import Column
from weft.store.encoding import END, descending
from weft.store.tables import Table

PAGE, INLINKS, RANK, DOMAIN, INFO = b"page", b"inlinks", b"rank", b"domain", b"info"
CUR, VERSION, GONE, SINCE, INCOUNT, SCORE, PAGECOUNT = (
    *(b"cur", b"version", b"gone", b"since"),
    *(b"incount", b"score", b"pagecount"),
)

_F, _Q, _D = Table.FLUO.byte, Table.QUERY.byte, Table.DOMAINS.byte
_FLUO_PAGE, _PAGE, _DOMAIN, _TOTAL = _F + b"p:", _Q + b"p:", _Q + b"d:", _Q + b"t:"
_BY_PAGES, _BY_REFERENCES, _DOC = _D + b"p:", _D + b"r:", Table.DOCS.byte + b"x:"
_URIS, _DOMAINS = ([b"%b:%02x:" % (name, base) for base in range(BASES)] for name in (b"um", b"dm"))
"""What rows of uris and of domains begin with, by their base."""
_NO_COLUMN = END + END


def _column(family: bytes, qualifier: bytes = b"") -> bytes:
    return END + family + END + qualifier


_CUR, _VERSION, _GONE, _SINCE = (_column(PAGE, qualifier) for qualifier in (CUR, VERSION, GONE, SINCE))
_INCOUNT, _SCORE, _INFO = _column(PAGE, INCOUNT), _column(PAGE, SCORE), _column(INFO)
_INLINKS, _RANK, _PAGECOUNT = _column(INLINKS), _column(RANK), _column(DOMAIN, PAGECOUNT)
DOC, CHANGED = b"doc", b"changed"
_DOC_COLUMN, _DOC_CHANGED = _column(DOC), _column(DOC, CHANGED)


@lru_cache(maxsize=65_536)
def base_of(domain: bytes) -> int:
    """The base of a domain: which of the 64 parts of the index it belongs to."""
    return crc32(domain) % BASES


def base_row(begin: bytes, domain: bytes) -> bytes:
    """The row for a domain's base, where a table keeps one for each base."""
    return b"%b%02x" % (begin, base_of(domain))


# fluo: what the observers keep


def page_cur(uri: bytes) -> bytes:
    return b"".join((_FLUO_PAGE, uri, _CUR))


def page_version(uri: bytes) -> bytes:
    return b"".join((_FLUO_PAGE, uri, _VERSION))


def page_gone(uri: bytes) -> bytes:
    return b"".join((_FLUO_PAGE, uri, _GONE))


def page_since(uri: bytes) -> bytes:
    return b"".join((_FLUO_PAGE, uri, _SINCE))


def uri_info(domain: bytes, uri: bytes) -> bytes:
    return b"".join((_F, _URIS[base_of(domain)], uri, _INFO))


def domain_info(domain: bytes) -> bytes:
    return b"".join((_F, _DOMAINS[base_of(domain)], domain, _INFO))


def totals(base: int) -> bytes:
    return b"".join((_F, b"tm:%02x" % base, _INFO))


def totals_columns() -> list[Column]:
    return [Column(b"tm:%02x" % base, INFO, b"") for base in range(BASES)]


def page_column(uri: bytes, qualifier: bytes) -> Column:
    """A column of a page's row, in `fluo` or in `query`."""
    return Column(b"p:" + uri, PAGE, qualifier)


def uri_info_column(domain: bytes, uri: bytes) -> Column:
    return Column(_URIS[base_of(domain)] + uri, INFO, b"")


def domain_info_column(domain: bytes) -> Column:
    return Column(_DOMAINS[base_of(domain)] + domain, INFO, b"")


# query: what answers are read from


def query_cur(uri: bytes) -> bytes:
    return b"".join((_PAGE, uri, _CUR))


def incount(uri: bytes) -> bytes:
    return b"".join((_PAGE, uri, _INCOUNT))


def score(uri: bytes) -> bytes:
    return b"".join((_PAGE, uri, _SCORE))


INLINK_PARTS: Final = (_PAGE, _INLINKS)
"""What stands before the target and before the source in the key of an inlink."""


def inlink(target: bytes, source: bytes) -> bytes:
    begin, middle = INLINK_PARTS
    return b"".join((begin, target, middle, source))


def rank(domain: bytes, references: int, uri: bytes) -> bytes:
    return b"".join((_DOMAIN, domain, _RANK, descending(references), uri))


def pagecount(domain: bytes) -> bytes:
    return b"".join((_DOMAIN, domain, _PAGECOUNT))


def total(references: int, uri: bytes) -> bytes:
    return b"".join((_TOTAL, descending(references), uri, _NO_COLUMN))


def rank_and_total(domain: bytes, references: int, uri: bytes) -> tuple[bytes, bytes]:
    """Both places where a uri is ranked: there are two such pairs for nearly every link."""
    count = descending(references)
    return b"".join((_DOMAIN, domain, _RANK, count, uri)), b"".join((_TOTAL, count, uri, _NO_COLUMN))


# domains: every domain, twice: the one with the most pages first, and the one with the most references first


def by_pages(pages: int, domain: bytes) -> bytes:
    return b"".join((_BY_PAGES, descending(pages), domain, _NO_COLUMN))


def by_references(references: int, domain: bytes) -> bytes:
    return b"".join((_BY_REFERENCES, descending(references), domain, _NO_COLUMN))


# docs: what was on a page


def doc(uri: bytes) -> bytes:
    return b"".join((_DOC, uri, _DOC_COLUMN))


def doc_column(uri: bytes) -> Column:
    return Column(b"x:" + uri, DOC, b"")


def doc_changed(uri: bytes) -> bytes:
    """When the doc last changed, in milliseconds since 1970."""
    return b"".join((_DOC, uri, _DOC_CHANGED))


def doc_changed_column(uri: bytes) -> Column:
    return Column(b"x:" + uri, DOC, CHANGED)

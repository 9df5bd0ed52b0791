"""How many domains a crawl of any scope may enter, and which ones it has entered.

l:<domain>  entered:            empty
s:*         site:domains        how many there are
"""

from __future__ import annotations

from typing import Final

from weft.dispatcher.link_records import DOMAIN_ROW
from weft.dispatcher.scope import Scope
from weft.linkindex.cells import Cells
from weft.model.domain import reversed_domain
from weft.model.refusal import Refusal, RefusalKind
from weft.model.url import PageUrl
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

ENTERED: Final = b"entered"
_COUNT: Final = Column(b"s:*", b"site", b"domains")


class DomainLimit:
    """Counted in the batch that keeps a domain's first link: both are written or neither."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._is_entered: dict[bytes, bool] = {}
        self._new: list[bytes] = []
        self._before: int | None = None

    def enter(self, domain: bytes, most: int) -> bool:
        """Whether this domain may be entered if at most `most` may; if so, it is counted."""
        if domain not in self._is_entered:
            self._is_entered[domain] = is_entered(self._reader, domain)
        if not self._is_entered[domain] and self._count() < most:
            self._is_entered[domain] = True
            self._new.append(domain)
        return self._is_entered[domain]

    def _count(self) -> int:
        if self._before is None:
            self._before = entered_count(self._reader)
        return self._before + len(self._new)

    def cells(self) -> Cells:
        if not self._new:
            return {}
        cells: Cells = {cell_key(Table.LINKS.byte, *_column(domain)): b"" for domain in self._new}
        cells[cell_key(Table.LINKS.byte, *_COUNT)] = b"%d" % self._count()
        return cells


def domain_limit_refusal(reader: Reader, scope: Scope, page: PageUrl, most: int) -> Refusal | None:
    """Why no link of a page's domain is kept, if the crawl may enter no further domain; None if one may be kept."""
    if scope.anywhere is None or scope.site_of(page) is not scope.anywhere:
        return None
    is_full = entered_count(reader) >= most and not is_entered(reader, reversed_domain(page.domain).encode())
    detail = f"{most} were entered, which are all that a crawl of any scope may enter"
    return Refusal(RefusalKind.DOMAINS, detail) if is_full else None


def is_entered(reader: Reader, domain: bytes) -> bool:
    return reader.get(Table.LINKS, [_column(domain)])[0] is not None


def entered_count(reader: Reader) -> int:
    cell = reader.get(Table.LINKS, [_COUNT])[0]
    return int(cell.value) if cell else 0


def _column(domain: bytes) -> Column:
    return Column(DOMAIN_ROW + domain, ENTERED)

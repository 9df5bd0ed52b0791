"""How many domains a crawl of any scope may enter, which ones it has entered, and which ones it tries.

A domain counts once it has answered. Until then it is tried, by the domain of the page that named it: that one may have
so many tries open at a time, and fewer if the names that it gives keep not answering. A try that fails gives its place
back. Pages that name more than may be tried now are looked at again.

l:<domain>  entered:            empty: it answered, or was entered by a weft that counted names
                                ?<source>: it is tried for this domain
                                -<source>: it did not answer
            tries:              of the domains that its pages name: how many are tried, answered, did not answer
s:*         site:domains        how many answered
            site:tries          how many are tried
            again:<uri>         a page to look at again
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from weft.dispatcher.link_records import DOMAIN_ROW
from weft.dispatcher.scope import Scope
from weft.linkindex.cells import Cells
from weft.model.domain import reversed_domain
from weft.model.refusal import Refusal, RefusalKind
from weft.model.url import PageUrl, Uri, domain_of
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

ENTERED: Final = b"entered"
TRIES: Final = b"tries"
AGAIN: Final = b"again"
OPEN_MOST: Final = 100
"""Domains that are tried at a time for one domain, if it names such that exist."""
_FEW: Final = OPEN_MOST // 10
"""Whose pages may try no more than this at a time is not looked at again."""
_REMEMBERED: Final = 1000
"""Tries by which a domain is judged, about: the latest ones."""
_ROW: Final = b"s:*"
_COUNT: Final = Column(_ROW, b"site", b"domains")
_TRIED: Final = Column(_ROW, b"site", b"tries")
_ANSWERED, _IS_TRIED, _MISSED = b"", b"?", b"-"


class Entry(Enum):
    """Whether a domain may be entered."""

    ENTERED = auto()
    LATER = auto()
    """Not before others have answered, or have not."""
    FULL = auto()


@dataclass(slots=True)
class SourceTries:
    """What became of the domains that the pages of one domain named."""

    open: int = 0
    answered: int = 0
    missed: int = 0

    @property
    def most(self) -> int:
        """How many may be open."""
        return max(1, OPEN_MOST * (self.answered + 1) // (self.answered + self.missed + 1))

    @property
    def is_worth_another_look(self) -> bool:
        """Whether about half of its tries are free; one look is much work."""
        return self.open <= self.most // 2

    @property
    def is_hopeless(self) -> bool:
        return self.most <= _FEW

    def settle(self, *, has_answered: bool) -> None:
        self.open = max(0, self.open - 1)
        self.answered += has_answered
        self.missed += not has_answered
        if self.answered + self.missed > _REMEMBERED:
            self.answered, self.missed = self.answered // 2, self.missed // 2

    @classmethod
    def read(cls, value: bytes) -> SourceTries:
        return cls(*map(int, value.split()))

    @property
    def encoded(self) -> bytes:
        return b"%d %d %d" % (self.open, self.answered, self.missed)


class DomainLimit:
    """Counted in the batch that keeps a domain's first link, or its first answer: both are written or neither."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._domains: dict[bytes, bytes | None] = {}
        """What `entered:` says of a domain now; None: it has no such cell."""
        self._changed: set[bytes] = set()
        self._sources: dict[bytes, SourceTries] = {}
        self._again: dict[bytes, bool] = {}
        """Pages to look at again, and those that were."""
        self._counts: list[int] | None = None

    def enter(self, domain: bytes, page: str, most: int) -> Entry:
        """Whether this domain, which a page names, may be entered if at most `most` may; if so, it is tried."""
        if self.is_entered(domain):
            return Entry.ENTERED
        answered, tried = self._totals()
        if answered >= most:
            return Entry.FULL
        source = _source_of(page)
        has_room = answered + tried < most
        if has_room and (not source or source == domain):
            self._answer(domain)
        elif has_room and self.tries_of(source).open < self.tries_of(source).most:
            self._say(domain, _IS_TRIED + source)
            self._add(0, 1)
            self.tries_of(source).open += 1
        else:
            if page:
                self._again[page.encode()] = True
            return Entry.LATER
        return Entry.ENTERED

    def unknown(self, domains: Collection[bytes]) -> set[bytes]:
        """Those that were never entered; read at once."""
        unread = [domain for domain in dict.fromkeys(domains) if domain not in self._domains]
        cells = self._reader.get(Table.LINKS, [_entered_column(domain) for domain in unread])
        self._domains |= {domain: cell.value if cell else None for domain, cell in zip(unread, cells, strict=True)}
        return {domain for domain in domains if self._domains[domain] is None}

    def is_entered(self, domain: bytes) -> bool:
        """Whether it answered, or is tried."""
        said = self._said(domain)
        return said is not None and not said.startswith(_MISSED)

    def gave_its_place_back(self, domain: bytes) -> bool:
        """Whether this domain was tried and did not answer."""
        return (self._said(domain) or b"").startswith(_MISSED)

    def fetched(self, domain: bytes, *, has_answered: bool) -> None:
        """A fetch of this domain ended; without an answer, a domain that is tried gives its place back."""
        said = self._said(domain)
        if not said:
            return
        source = said[1:]
        is_tried = said.startswith(_IS_TRIED)
        if is_tried:
            self._add(0, -1)
            self.tries_of(source).settle(has_answered=has_answered)
        if has_answered:
            self._answer(domain)
        elif is_tried:
            self._say(domain, _MISSED + source)

    def tries_of(self, source: bytes) -> SourceTries:
        """Of a domain whose pages name others; to be changed in place."""
        if source not in self._sources:
            cell = self._reader.get(Table.LINKS, [_tries_column(source)])[0]
            self._sources[source] = SourceTries.read(cell.value) if cell else SourceTries()
        return self._sources[source]

    def pages_to_look_at(self, most: int, pages: int) -> Iterator[bytes]:
        """Pages that name domains which may be tried now, out of so many that wait; those that are in vain are
        forgotten."""
        for cell in self._reader.scan(Table.LINKS, _ROW, AGAIN, limit=pages):
            page = cell.qualifier
            answered, tried = self._totals()
            tries = self.tries_of(_source_of(page.decode()))
            if answered >= most or tries.is_hopeless:
                self._again[page] = False
            elif answered + tried < most and tries.is_worth_another_look:
                self._again[page] = False
                yield page

    def cells(self) -> Cells:
        cells: Cells = {_key(_entered_column(domain)): self._domains[domain] for domain in self._changed}
        if self._counts is not None and self._changed:
            cells |= {_key(_COUNT): b"%d" % self._counts[0], _key(_TRIED): b"%d" % self._counts[1]}
            cells |= {_key(_tries_column(source)): tries.encoded for source, tries in self._sources.items() if source}
        cells |= {_key(Column(_ROW, AGAIN, page)): b"" if waits else None for page, waits in self._again.items()}
        return cells

    def _answer(self, domain: bytes) -> None:
        self._say(domain, _ANSWERED)
        self._add(1, 0)

    def _said(self, domain: bytes) -> bytes | None:
        if domain not in self._domains:
            self._domains[domain] = _entered(self._reader, domain)
        return self._domains[domain]

    def _say(self, domain: bytes, what: bytes) -> None:
        self._domains[domain] = what
        self._changed.add(domain)

    def _totals(self) -> tuple[int, int]:
        if self._counts is None:
            self._counts = [*_totals(self._reader)]
        return self._counts[0], self._counts[1]

    def _add(self, answered: int, tried: int) -> None:
        before = self._totals()
        self._counts = [before[0] + answered, max(0, before[1] + tried)]


def domain_limit_refusal(reader: Reader, scope: Scope, page: PageUrl, most: int) -> Refusal | None:
    """Why no link of a page's domain is kept, if the crawl may enter no further domain now; None if one may be kept."""
    if scope.anywhere is None or scope.site_of(page) is not scope.anywhere:
        return None
    if is_entered(reader, reversed_domain(page.domain).encode()):
        return None
    answered, tried = _totals(reader)
    if answered >= most:
        detail = f"{most} were entered, which are all that a crawl of any scope may enter"
    elif answered + tried >= most:
        detail = f"{answered} were entered and {tried} are tried, and a crawl of any scope may enter {most}"
    else:
        return None
    return Refusal(RefusalKind.DOMAINS, detail)


def is_entered(reader: Reader, domain: bytes) -> bool:
    """Whether it answered, or is tried."""
    said = _entered(reader, domain)
    return said is not None and not said.startswith(_MISSED)


def entered_count(reader: Reader) -> int:
    """How many domains answered, or are tried."""
    return sum(_totals(reader))


def _totals(reader: Reader) -> tuple[int, int]:
    answered, tried = (int(cell.value) if cell else 0 for cell in reader.get(Table.LINKS, [_COUNT, _TRIED]))
    return answered, tried


def _entered(reader: Reader, domain: bytes) -> bytes | None:
    cell = reader.get(Table.LINKS, [_entered_column(domain)])[0]
    return cell.value if cell else None


def _source_of(page: str) -> bytes:
    return reversed_domain(domain_of(Uri(page))).encode() if page else b""


def _entered_column(domain: bytes) -> Column:
    return Column(DOMAIN_ROW + domain, ENTERED)


def _tries_column(source: bytes) -> Column:
    return Column(DOMAIN_ROW + source, TRIES)


def _key(column: Column) -> bytes:
    return cell_key(Table.LINKS.byte, *column)

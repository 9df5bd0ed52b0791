"""One round of changes to links: the records before and after, and every cell that follows from the difference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.dispatcher.domain_limit import DomainLimit
from weft.dispatcher.domain_work import (
    NO_WORK,
    DomainWork,
    Fronts,
    decode_work,
    encode_work,
    list_key,
    work_column,
    work_key,
)
from weft.dispatcher.fronts import Moves, fronts_after
from weft.dispatcher.link_records import (
    LinkPhase,
    LinkRecord,
    decode_record,
    encode_record,
    link_column,
    link_key,
    waiting_key,
)
from weft.dispatcher.traps.host_limits import HostLimits
from weft.linkindex.cells import Cells
from weft.linkindex.keys import uri_info_column
from weft.linkindex.records import UriInfo
from weft.store.api import Reader
from weft.store.tables import Table


class ChangedLink(NamedTuple):
    domain: bytes
    uri: bytes
    before: LinkRecord | None
    after: LinkRecord


class LinkRound:
    """Reads records, takes what they become, and gives the cells of one atomic batch.

    A domain with `low_water` or more links handed over is not listed as having work until some of them are back.
    """

    def __init__(self, reader: Reader, low_water: int) -> None:
        self._reader, self._low_water = reader, low_water
        self.hosts = HostLimits(reader)
        self._before: dict[tuple[bytes, bytes], LinkRecord | None] = {}
        self._after: dict[tuple[bytes, bytes], LinkRecord] = {}
        self.domain_limit = DomainLimit(reader)

    def read(self, links: Sequence[tuple[bytes, bytes]]) -> list[LinkRecord | None]:
        """The records of (domain, uri), as they are now in this round."""
        unread = [link for link in dict.fromkeys(links) if link not in self._before]
        cells = self._reader.get(Table.LINKS, [link_column(*link) for link in unread])
        for link, cell in zip(unread, cells, strict=True):
            self._before[link] = decode_record(cell.value) if cell else None
        return [self._after.get(link, self._before[link]) for link in links]

    def put(self, domain: bytes, uri: bytes, record: LinkRecord) -> None:
        """Make this the link's record; it must have been read in this round."""
        self._after[domain, uri] = record

    def references(self, links: Sequence[tuple[bytes, bytes]]) -> list[int]:
        """How many pages refer to each, according to the index."""
        cells = self._reader.get(Table.FLUO, [uri_info_column(*link) for link in links])
        return [UriInfo.decode(cell.value).references if cell else 0 for cell in cells]

    def changed(self) -> Iterator[ChangedLink]:
        """The links whose records differ from what is stored."""
        for (domain, uri), after in self._after.items():
            before = self._before[domain, uri]
            if before != after:
                yield ChangedLink(domain, uri, before, after)

    def cells(self) -> Cells:
        cells = {**self.hosts.cells(), **self.domain_limit.cells()}
        by_domain: defaultdict[bytes, list[tuple[LinkRecord | None, LinkRecord]]] = defaultdict(list)
        moves: defaultdict[bytes, Moves] = defaultdict(Moves)
        for domain, uri, before, after in self.changed():
            _write_link(cells, moves[domain], domain, uri, before, after)
            by_domain[domain].append((before, after))
        works = self.works(by_domain)
        for domain, differences in by_domain.items():
            work = works[domain]
            fronts = fronts_after(self._reader, domain, work.fronts, moves[domain])
            _write_work(cells, domain, work, _changed_work(work, differences, fronts, self._low_water))
        return cells

    def works(self, domains: Iterable[bytes]) -> dict[bytes, DomainWork]:
        names = list(domains)
        found = self._reader.get(Table.LINKS, [work_column(name) for name in names])
        return {name: decode_work(cell.value) if cell else NO_WORK for name, cell in zip(names, found, strict=True)}


def _write_link(
    cells: Cells, moves: Moves, domain: bytes, uri: bytes, before: LinkRecord | None, after: LinkRecord
) -> None:
    was, now = before and waiting_key(domain, uri, before), waiting_key(domain, uri, after)
    if was != now:
        if before and was:
            (moves.new_gone if before.phase is LinkPhase.NEW else moves.due_gone).append(was)
            cells[was] = None
        if now:
            (moves.new_came if after.phase is LinkPhase.NEW else moves.due_came).append(now)
            cells[now] = b""
    cells[link_key(domain, uri)] = encode_record(after)


def _changed_work(
    work: DomainWork,
    differences: Sequence[tuple[LinkRecord | None, LinkRecord]],
    fronts: Fronts,
    low_water: int,
) -> DomainWork:
    outstanding, links, taken, retrying = work.outstanding, work.links, work.taken, work.retrying
    for before, after in differences:
        was_given = before is not None and before.phase is LinkPhase.GIVEN
        is_given = after.phase is LinkPhase.GIVEN
        outstanding += is_given - was_given
        links += before is None
        taken += is_given and not was_given and not after.fetched
        retrying += after.is_retrying - (before is not None and before.is_retrying)
    first = fronts.first
    return DomainWork(
        first=first,
        listed=first if outstanding < low_water else None,
        outstanding=outstanding,
        links=links,
        taken=taken,
        retrying=max(0, retrying),
        fronts=fronts,
    )


def _write_work(cells: Cells, domain: bytes, before: DomainWork, after: DomainWork) -> None:
    if before.listed != after.listed:
        if before.listed is not None:
            cells[list_key(domain, before.listed)] = None
        if after.listed is not None:
            cells[list_key(domain, after.listed)] = b""
    if before != after:
        cells[work_key(domain)] = encode_work(after)

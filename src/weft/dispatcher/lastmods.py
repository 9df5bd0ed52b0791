"""When pages changed, as sitemaps say: believed of a host while it mostly proves true.

l:<domain>  lastmod:<host>      how often what its sitemaps said was so, and how often not
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.records import DOMAIN_ROW, LinkRecord, Place
from weft.dispatcher.traps.hosts import Host, host_of
from weft.dispatcher.work import LinkRound
from weft.linkindex.cells import Cells
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

LASTMOD: Final = b"lastmod"
_DAY: Final = 86_400_000
_FIRST: Final = 4
"""Claims of a host that are believed before any of them could be looked at."""
_REMEMBERED: Final = 32
"""Claims after which old ones count half: a host may learn to tell the truth."""


class Claim(NamedTuple):
    """That a page changed at a moment."""

    domain: bytes
    uri: bytes
    lastmod: int


class Trust(NamedTuple):
    """What came of a host's claims."""

    true: int = 0
    false: int = 0

    @property
    def is_believed(self) -> bool:
        return self.true + self.false < _FIRST or self.true >= self.false

    def after(self, *, was_true: bool) -> Trust:
        more = Trust(self.true + was_true, self.false + (not was_true))
        return Trust(more.true // 2, more.false // 2) if sum(more) >= _REMEMBERED else more


class Lastmods:
    """The claims of one round, and the trust of the hosts that they are about."""

    def __init__(self, reader: Reader, settings: DispatcherSettings) -> None:
        self._reader, self._soonest = reader, int(settings.refresh_min * 1000)
        self._trust: dict[Host, Trust] = {}
        self._changed: set[Host] = set()

    def judge(self, place: tuple[bytes, bytes], before: LinkRecord, after: LinkRecord) -> LinkRecord:
        """The record `after` a fetch: what was claimed of the page is true if it changed, and forgotten."""
        has_succeeded = after.fetched > before.fetched and not after.failures and not after.turned
        if not before.claimed or not has_succeeded:
            return after
        host = place[0], host_of(place[1])
        self._read([host])
        self._trust[host] = self._trust[host].after(was_true=after.changed == after.fetched)
        self._changed.add(host)
        return msgspec.structs.replace(after, claimed=0)

    def hear(self, links: LinkRound, claims: Sequence[Claim], now: int) -> None:
        """Pages that changed since they were fetched are due now, if the host is believed."""
        self._read((claim.domain, host_of(claim.uri)) for claim in claims)
        records = links.read([(claim.domain, claim.uri) for claim in claims])
        for claim, record in zip(claims, records, strict=True):
            # A moment that is still to come says nothing; a day is left for time zones.
            is_news = record is not None and max(record.fetched, record.claimed) < claim.lastmod <= now + _DAY
            if record is not None and is_news and record.fetched and record.place is Place.DUE:
                links.put(claim.domain, claim.uri, self._after(record, claim, now))

    def cells(self) -> Cells:
        return {cell_key(Table.LINKS.byte, *_column(host)): b"%d %d" % self._trust[host] for host in self._changed}

    def _after(self, record: LinkRecord, claim: Claim, now: int) -> LinkRecord:
        # Also a claim that is not believed is looked at, when the page is due anyway.
        is_believed = self._trust[claim.domain, host_of(claim.uri)].is_believed and not record.failures
        sooner = min(record.due, max(now, record.fetched + self._soonest)) if is_believed else record.due
        return msgspec.structs.replace(record, claimed=claim.lastmod, due=sooner)

    def _read(self, hosts: Iterable[Host]) -> None:
        unread = [host for host in dict.fromkeys(hosts) if host not in self._trust]
        for host, cell in zip(unread, self._reader.get(Table.LINKS, list(map(_column, unread))), strict=True):
            self._trust[host] = Trust(*map(int, cell.value.split())) if cell else Trust()


def _column(host: Host) -> Column:
    return Column(DOMAIN_ROW + host[0], LASTMOD, host[1])

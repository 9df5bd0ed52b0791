"""When pages changed according to sitemaps: a host is believed as long as most of what it announces proves true.

l:<domain>  lastmod:<host>      how often its sitemaps were right, and how often wrong
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import DOMAIN_ROW, LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.traps.host_limits import Host, host_of
from weft.linkindex.cells import Cells
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

LASTMOD: Final = b"lastmod"
_DAY: Final = 86_400_000
_FIRST: Final = 4
"""Announcements of a host that are believed before any of them was checked."""
_REMEMBERED: Final = 32
"""Announcements after which old ones count half: a host may learn to tell the truth."""


class Lastmod(NamedTuple):
    """A sitemap's announcement that a page changed."""

    domain: bytes
    uri: bytes
    changed: int
    """Milliseconds since 1970."""


class HostTrust(NamedTuple):
    """How often a host's announcements proved right and wrong."""

    true: int = 0
    false: int = 0

    @property
    def is_believed(self) -> bool:
        return self.true + self.false < _FIRST or self.true >= self.false

    def after(self, *, was_true: bool) -> HostTrust:
        more = HostTrust(self.true + was_true, self.false + (not was_true))
        return HostTrust(more.true // 2, more.false // 2) if sum(more) >= _REMEMBERED else more


class Lastmods:
    """The announcements of one round, and how far the hosts that they concern are trusted."""

    def __init__(self, reader: Reader, settings: DispatcherSettings) -> None:
        self._reader, self._soonest = reader, int(settings.refresh_min * 1000)
        self._trust: dict[Host, HostTrust] = {}
        self._changed: set[Host] = set()

    def judge(self, place: tuple[bytes, bytes], before: LinkRecord, after: LinkRecord) -> LinkRecord:
        """The record `after` a fetch, which shows whether what was announced of the page is true."""
        has_succeeded = after.fetched > before.fetched and not after.failures and not after.self_redirect
        if not before.announced or not has_succeeded:
            return after
        host = place[0], host_of(place[1])
        self._read([host])
        self._trust[host] = self._trust[host].after(was_true=after.changed == after.fetched)
        self._changed.add(host)
        return msgspec.structs.replace(after, announced=0)

    def take(self, links: LinkRound, announced: Sequence[Lastmod], now: int) -> None:
        """Make pages due that changed since they were fetched, if their host is believed."""
        self._read((lastmod.domain, host_of(lastmod.uri)) for lastmod in announced)
        records = links.read([(lastmod.domain, lastmod.uri) for lastmod in announced])
        for lastmod, record in zip(announced, records, strict=True):
            # A time in the future means nothing; a day is allowed for time zones.
            is_news = record is not None and max(record.fetched, record.announced) < lastmod.changed <= now + _DAY
            if record is not None and is_news and record.fetched and record.phase is LinkPhase.DUE:
                links.put(lastmod.domain, lastmod.uri, self._after(record, lastmod, now))

    def cells(self) -> Cells:
        return {cell_key(Table.LINKS.byte, *_column(host)): b"%d %d" % self._trust[host] for host in self._changed}

    def _after(self, record: LinkRecord, lastmod: Lastmod, now: int) -> LinkRecord:
        # One that is not believed is checked too, when the page is due anyway.
        is_believed = self._trust[lastmod.domain, host_of(lastmod.uri)].is_believed and not record.failures
        sooner = min(record.due, max(now, record.fetched + self._soonest)) if is_believed else record.due
        return msgspec.structs.replace(record, announced=lastmod.changed, due=sooner)

    def _read(self, hosts: Iterable[Host]) -> None:
        unread = [host for host in dict.fromkeys(hosts) if host not in self._trust]
        for host, cell in zip(unread, self._reader.get(Table.LINKS, list(map(_column, unread))), strict=True):
            self._trust[host] = HostTrust(*map(int, cell.value.split())) if cell else HostTrust()


def _column(host: Host) -> Column:
    return Column(DOMAIN_ROW + host[0], LASTMOD, host[1])

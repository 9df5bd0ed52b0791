"""A segment: the links chosen for a domain's next crawl, new ones and those that are due again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.domain_work import Fronts
from weft.dispatcher.fronts import waiting
from weft.dispatcher.link_records import DUE, LAST_AT_ONCE, NEW, LinkRecord, split_due, uri_of_new
from weft.dispatcher.link_round import LinkRound
from weft.store.api import Reader


class ChosenLink(NamedTuple):
    uri: bytes
    record: LinkRecord
    why: str


def choose(reader: Reader, links: LinkRound, domain: bytes, settings: DispatcherSettings, now: int) -> list[ChosenLink]:
    """The next segment of a domain; reads about a segment's worth of records, however many the domain has."""
    size, work = settings.segment_size, links.works([domain])[domain]
    stored = _Stored(reader, links, domain, work.fronts)
    again = stored.due(now, 2 * size) if settings.refresh_percentage else stored.wanted_at_once(now, 2 * size)
    if not settings.refresh_percentage and work.retrying:
        # No page is fetched twice; these were refused for haste, so there is no page yet.
        refused = (chosen for chosen in stored.due(now, None) if chosen.record.retry_soon)
        again += [chosen for chosen in refused if not chosen.record.is_wanted_at_once]
    # What is wanted at once is no refresh: it is taken whatever the share.
    wanted = sum(chosen.record.is_wanted_at_once for chosen in again)
    share = max(wanted, _share(size, settings.refresh_percentage, len(again)))
    fresh = stored.new(size)
    # What one side cannot fill, the other may.
    taken_again = again[: max(share, size - len(fresh))] if again else []
    return [*fresh[: size - len(taken_again)], *taken_again]


def _share(size: int, percentage: int, waiting: int) -> int:
    return min(waiting, max(1, size * percentage // 100))


class _Stored(NamedTuple):
    """The waiting links of a domain."""

    reader: Reader
    links: LinkRound
    domain: bytes
    fronts: Fronts | None

    def new(self, most: int) -> list[ChosenLink]:
        cells = waiting(self.reader, self.domain, NEW, self.fronts, most)
        found = self._known([uri_of_new(cell.qualifier) for cell in cells])
        return [ChosenLink(uri, record, _why_new(record)) for uri, record in found]

    def due(self, now: int, most: int | None) -> list[ChosenLink]:
        """Those whose moment has come: first what is wanted at once, then the least recently crawled."""
        found = self._known(list(self._due_until(now, most)))
        due = [ChosenLink(uri, record, _why_due(record, now)) for uri, record in found]
        return sorted(due, key=lambda chosen: (not chosen.record.is_wanted_at_once, chosen.record.fetched))

    def wanted_at_once(self, now: int, most: int) -> list[ChosenLink]:
        found = self._known(list(self._due_until(LAST_AT_ONCE, most)))
        wanted = [ChosenLink(uri, record, _why_due(record, now)) for uri, record in found if record.is_wanted_at_once]
        return sorted(wanted, key=lambda chosen: chosen.record.fetched)

    def _due_until(self, end: int, most: int | None) -> Iterator[bytes]:
        for cell in waiting(self.reader, self.domain, DUE, self.fronts, most):
            moment, uri = split_due(cell.qualifier)
            if moment > end:
                return
            yield uri

    def _known(self, uris: list[bytes]) -> Iterator[tuple[bytes, LinkRecord]]:
        records = self.links.read([(self.domain, uri) for uri in uris])
        return ((uri, record) for uri, record in zip(uris, records, strict=True) if record is not None)


def _why_new(record: LinkRecord) -> str:
    return f"new, {record.depth} hops, {record.references} references when last counted"


def _why_due(record: LinkRecord, now: int) -> str:
    if record.is_wanted_at_once:
        return f"wanted at once, crawled {(now - record.fetched) / 1000:,.0f} s ago"
    return f"due for {(now - record.due) / 1000:,.0f} s, crawled {(now - record.fetched) / 1000:,.0f} s ago"

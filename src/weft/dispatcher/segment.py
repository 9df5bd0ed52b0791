"""A segment: the links chosen for a domain's next crawl, new ones and those that are due again."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import DOMAIN_ROW, DUE, NEW, LinkRecord, split_due, uri_of_new
from weft.dispatcher.link_round import LinkRound
from weft.store.api import Reader
from weft.store.tables import Table


class ChosenLink(NamedTuple):
    uri: bytes
    record: LinkRecord
    why: str


def choose(reader: Reader, links: LinkRound, domain: bytes, settings: DispatcherSettings, now: int) -> list[ChosenLink]:
    """The next segment of a domain; reads about a segment's worth of records, however many the domain has."""
    size = settings.segment_size
    # What is wanted at once is no refresh: it is taken whatever the share.
    again = _due(reader, links, domain, now if settings.refresh_percentage else 0, 2 * size)
    if not settings.refresh_percentage and links.works([domain])[domain].retrying:
        # No page is fetched twice; these were refused for haste, so there is no page yet.
        refused = (chosen for chosen in _due(reader, links, domain, now, None) if chosen.record.retry_soon)
        again += [chosen for chosen in refused if not chosen.record.is_wanted_at_once]
    wanted = sum(chosen.record.is_wanted_at_once for chosen in again)
    share = max(wanted, _share(size, settings.refresh_percentage, len(again)))
    fresh = _new(reader, links, domain, size)
    # What one side cannot fill, the other may.
    taken_again = again[: max(share, size - len(fresh))] if again else []
    return [*fresh[: size - len(taken_again)], *taken_again]


def _share(size: int, percentage: int, waiting: int) -> int:
    return min(waiting, max(1, size * percentage // 100))


def _new(reader: Reader, links: LinkRound, domain: bytes, most: int) -> list[ChosenLink]:
    cells = reader.scan(Table.LINKS, DOMAIN_ROW + domain, NEW, limit=most)
    uris = [uri_of_new(cell.qualifier) for cell in cells]
    found = zip(uris, links.read([(domain, uri) for uri in uris]), strict=True)
    return [ChosenLink(uri, record, _why_new(record)) for uri, record in found if record is not None]


def _why_new(record: LinkRecord) -> str:
    return f"new, {record.depth} hops, {record.references} references when last counted"


def _due(reader: Reader, links: LinkRound, domain: bytes, now: int, most: int | None) -> list[ChosenLink]:
    """Those whose moment has come: first what is wanted at once, then the least recently crawled."""
    cells = islice(reader.scan(Table.LINKS, DOMAIN_ROW + domain, DUE), most)
    uris = [uri for moment, uri in (split_due(cell.qualifier) for cell in cells) if moment <= now]
    found = zip(uris, links.read([(domain, uri) for uri in uris]), strict=True)
    due = [ChosenLink(uri, record, _why_due(record, now)) for uri, record in found if record is not None]
    return sorted(due, key=lambda chosen: (not chosen.record.is_wanted_at_once, chosen.record.fetched))


def _why_due(record: LinkRecord, now: int) -> str:
    if record.is_wanted_at_once:
        return f"wanted at once, crawled {(now - record.fetched) / 1000:,.0f} s ago"
    return f"due for {(now - record.due) / 1000:,.0f} s, crawled {(now - record.fetched) / 1000:,.0f} s ago"

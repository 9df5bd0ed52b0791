"""Links that pages name: those in scope become known, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from weft.config.crawl_sections import DispatcherSettings
from weft.dispatcher.records import LinkRecord, Place
from weft.dispatcher.scope import Scope
from weft.dispatcher.work import LinkRound
from weft.model.domain import plain_domain
from weft.model.url import PageUrl, Uri


class Found(NamedTuple):
    """A link as a page names it."""

    domain: bytes
    uri: bytes
    url: str
    depth: int
    source: str
    references: int = 0


class Discovery:
    """Takes links that were found and puts the unknown ones into a round.

    Those that were seen lately are known without a look into the store: pages of a site name the same links again and
    again.
    """

    def __init__(self, settings: DispatcherSettings, remembered: int = 400_000) -> None:
        self._settings, self._half = settings, remembered // 2
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()
        self.refused: Counter[str] = Counter()
        """How many links were refused without a record, by reason."""

    def offer(self, links: LinkRound, scope: Scope, found: Iterable[Found], now: int) -> int:
        """Make unknown links known; returns how many."""
        unseen = self._unseen(found)
        wanted = [link for link in unseen if self._is_in_scope(scope, link)]
        records = links.read([(link.domain, link.uri) for link in wanted])
        works = links.works({link.domain for link in wanted})
        added: Counter[bytes] = Counter()
        for link, record in zip(wanted, records, strict=True):
            if record is not None:
                _come_closer(links, link, record)
            elif works[link.domain].links + added[link.domain] >= self._settings.domain_links:
                self.refused["links of the domain"] += 1
            else:
                added[link.domain] += 1
                links.put(link.domain, link.uri, self._record(scope, link, now))
        self._remember({link.uri for link in wanted})
        return added.total()

    def forget(self) -> None:
        """A round was not written: nothing of it is known."""
        self._young, self._old = set(), set()

    def _unseen(self, found: Iterable[Found]) -> list[Found]:
        """Each uri once, by its shortest way."""
        nearest: dict[bytes, Found] = {}
        for link in found:
            if link.uri in self._young or link.uri in self._old:
                continue
            known = nearest.get(link.uri)
            if known is None or link.depth < known.depth:
                nearest[link.uri] = link
        return list(nearest.values())

    def _is_in_scope(self, scope: Scope, link: Found) -> bool:
        if scope.site_of(page_of(link)) is not None:
            return True
        self.refused["out of scope"] += 1
        return False

    def _record(self, scope: Scope, link: Found, now: int) -> LinkRecord:
        reason = scope.judge(page_of(link), link.depth).reason
        return LinkRecord(
            url=link.url,
            place=Place.HIDDEN if reason else Place.NEW,
            reason=reason,
            discovered=now,
            depth=link.depth,
            source=link.source,
            references=link.references,
        )

    def _remember(self, uris: set[bytes]) -> None:
        self._young |= uris
        if len(self._young) > self._half:
            self._old, self._young = self._young, set()


def _come_closer(links: LinkRound, link: Found, record: LinkRecord) -> None:
    """A shorter way to a link that still waits moves it forward."""
    if link.depth < record.depth and record.place in (Place.NEW, Place.HIDDEN):
        is_too_deep = record.reason.startswith("depth:")
        place, reason = (Place.NEW, "") if is_too_deep else (record.place, record.reason)
        closer = msgspec.structs.replace(record, depth=link.depth, source=link.source, place=place, reason=reason)
        links.put(link.domain, link.uri, closer)


def page_of(link: Found) -> PageUrl:
    return PageUrl(link.url, Uri(link.uri.decode()), plain_domain(link.domain.decode()))

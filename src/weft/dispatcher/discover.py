"""Links that pages name: those in scope become known, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from weft.config.crawl_sections import DispatcherSettings
from weft.dispatcher.parameters.hiding import come_closer, hidden, stand_in
from weft.dispatcher.parameters.learning import ParameterRound
from weft.dispatcher.parameters.sampling import is_sampled
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

    def offer(
        self, links: LinkRound, scope: Scope, found: Iterable[Found], now: int, rules: ParameterRound | None = None
    ) -> int:
        """Make unknown links known; returns how many. By the rules some are hidden, and others stand for them."""
        unseen = self._unseen(found)
        wanted = [link for link in unseen if self._is_in_scope(scope, link)]
        added, stand_ins = self._add(links, scope, wanted, now, rules)
        if stand_ins:
            added += self._add(links, scope, self._unseen(stand_ins), now, None)[0]
        return added

    def _add(
        self, links: LinkRound, scope: Scope, wanted: list[Found], now: int, rules: ParameterRound | None
    ) -> tuple[int, list[Found]]:
        """How many were added, and the links that stand for those of them that are hidden."""
        places = [(link.domain, link.uri) for link in wanted]
        records = links.read(places)
        works = links.works({link.domain for link in wanted})
        if rules is not None:
            rules.read(place for place in places if b"?" in place[1])
        added: Counter[bytes] = Counter()
        stand_ins: list[Found] = []
        for link, record in zip(wanted, records, strict=True):
            if record is not None:
                come_closer(links, (link.domain, link.uri), record, link.depth, link.source)
            elif works[link.domain].links + added[link.domain] >= self._settings.domain_links:
                self.refused["links of the domain"] += 1
            else:
                added[link.domain] += 1
                links.put(link.domain, link.uri, self._record(scope, link, now, rules, stand_ins))
        self._remember({link.uri for link in wanted})
        return added.total(), stand_ins

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

    def _record(
        self, scope: Scope, link: Found, now: int, rules: ParameterRound | None, stand_ins: list[Found]
    ) -> LinkRecord:
        page = page_of(link)
        reason = scope.judge(page, link.depth).reason
        record = LinkRecord(
            url=link.url,
            place=Place.HIDDEN if reason else Place.NEW,
            reason=reason,
            discovered=now,
            depth=link.depth,
            source=link.source,
            references=link.references,
        )
        reduced = stand_in(rules, scope, link.domain, page, link.depth) if rules and not reason else None
        if rules is None or reduced is None or is_sampled(page.uri, self._settings.rule_sample, reduced.doubt):
            return record
        rules.hid(link.domain, reduced)
        stand_ins.append(link._replace(uri=reduced.page.uri.encode(), url=reduced.page.url))
        return hidden(record, reduced)

    def _remember(self, uris: set[bytes]) -> None:
        self._young |= uris
        if len(self._young) > self._half:
            self._old, self._young = self._young, set()


def page_of(link: Found) -> PageUrl:
    return PageUrl(link.url, Uri(link.uri.decode()), plain_domain(link.domain.decode()))

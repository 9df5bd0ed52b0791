"""Links that pages name: those in scope become known, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.domain_limit import Entry
from weft.dispatcher.link_records import LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.hidden_links import REFUSED_BY_THE_WAY, come_closer, hidden, stand_in
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.parameters.reduction import is_sampled
from weft.dispatcher.scope import Scope
from weft.dispatcher.seen_links import SeenLinks, is_time_to_recount, recount_references
from weft.dispatcher.traps import trap_after
from weft.dispatcher.traps.host_limits import host_of
from weft.linkindex.gc_paused import gc_paused
from weft.model.domain import Domain, plain_domain
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site
from weft.model.url import PageUrl, Uri

REMEMBERED: Final = 64 << 20
"""Bytes of links that are known without reading the store: about 300,000 ordinary ones."""


class DiscoveredLink(NamedTuple):
    """A link as a page names it."""

    domain: bytes
    uri: bytes
    url: str
    depth: int
    source: str
    references: int = 0
    nesting: int = 0
    redirects: int = 0

    @property
    def page(self) -> PageUrl:
        return PageUrl(self.url, Uri(self.uri.decode()), _plain(self.domain))


class Discovery:
    """Takes links that were found and puts the unknown ones into a round.

    Those that were seen recently are known without reading the store.
    """

    def __init__(self, settings: DispatcherSettings, remembered: int = REMEMBERED) -> None:
        self._settings, self._seen = settings, SeenLinks(remembered)
        self._to_recount: dict[tuple[bytes, bytes], None] = {}
        """Links that may have more references by now; the index knows of them when this round is written."""
        self.refused: Counter[RefusalKind] = Counter()
        """How many links were refused, by kind; most also have a record with the details."""

    def offer(
        self,
        links: LinkRound,
        scope: Scope,
        found: Iterable[DiscoveredLink],
        now: int,
        rules: ParameterRound | None = None,
    ) -> int:
        """Make unknown links known; returns how many. In place of those that rules hide, others become known."""
        to_recount, self._to_recount = self._to_recount, {}
        with gc_paused():
            recount_references(links, list(to_recount))
            added, stand_ins = self._add(links, scope, self._wanted(scope, found), now, rules)
            if stand_ins:
                added += self._add(links, scope, self._wanted(scope, stand_ins), now, None)[0]
        return added

    def _add(
        self, links: LinkRound, scope: Scope, wanted: dict[DiscoveredLink, Site], now: int, rules: ParameterRound | None
    ) -> tuple[int, list[DiscoveredLink]]:
        """How many were added, and the links to fetch in place of those that are hidden."""
        wanted = self._enterable(links, scope, wanted, now)
        places = [(link.domain, link.uri) for link in wanted]
        records = links.read(places)
        works = links.works({link.domain for link in wanted})
        hosts = [(link.domain, host_of(link.uri)) for link in wanted]
        links.hosts.read(host for host, record in zip(hosts, records, strict=True) if record is None)
        if rules is not None:
            rules.read(place for place in places if b"?" in place[1])
        added: Counter[bytes] = Counter()
        stand_ins: list[DiscoveredLink] = []
        for (link, site), host, record in zip(wanted.items(), hosts, records, strict=True):
            if record is not None:
                if not _redirect_refusal(link, self._settings):
                    come_closer(links, (link.domain, link.uri), record, link)
                self._to_recount[link.domain, link.uri] = None
                is_left_out = record.refused_as is RefusalKind.DOMAINS
                if is_left_out and not self._entry_refusal(links, scope, site, link, now):
                    links.put(link.domain, link.uri, record.reopen(now))
            elif works[link.domain].links + added[link.domain] >= self._settings.domain_links:
                self.refused[RefusalKind.LINKS_OF_A_DOMAIN] += 1
            elif not_entered := self._entry_refusal(links, scope, site, link, now):
                self.refused[not_entered] += 1
            elif too_many := links.hosts.refusal(host, self._settings):
                self.refused[too_many] += 1
            else:
                added[link.domain] += 1
                links.put(link.domain, link.uri, self._record(scope, link, site, now, rules, stand_ins))
        self._see(links, places)
        return added.total(), stand_ins

    def _enterable(
        self, links: LinkRound, scope: Scope, wanted: dict[DiscoveredLink, Site], now: int
    ) -> dict[DiscoveredLink, Site]:
        """Without those of new domains that may not be entered now: nothing is read for them, nor remembered."""
        unknown = links.domain_limit.unknown({link.domain for link, site in wanted.items() if site is scope.anywhere})
        enterable: dict[DiscoveredLink, Site] = {}
        for link, site in wanted.items():
            refusal = self._entry_refusal(links, scope, site, link, now) if link.domain in unknown else None
            if refusal is None:
                enterable[link] = site
            else:
                self.refused[refusal] += 1
        return enterable

    def _entry_refusal(
        self, links: LinkRound, scope: Scope, site: Site, link: DiscoveredLink, now: int
    ) -> RefusalKind | None:
        """Why the domain of a link is not entered, if it is one of any scope; a domain of a named site is not counted.

        A link that would not be fetched is no reason to enter a domain.
        """
        if site is not scope.anywhere or links.domain_limit.is_entered(link.domain):
            return None
        if scope.refusal(site, link.page, link.depth) or _refusal_by_the_way(link, now, self._settings):
            return None  # Its record tells so; should it be opened, the domain is entered then.
        entry = links.domain_limit.enter(link.domain, link.source, self._settings.max_domains)
        return None if entry is Entry.ENTERED else RefusalKind.DOMAINS

    def _see(self, links: LinkRound, places: list[tuple[bytes, bytes]]) -> None:
        """Remember links, except those that another way may open: they must be noticed when they are found again."""
        records = zip(places, links.read(places), strict=True)
        self._seen.add(uri for (_, uri), record in records if not (record and record.refused_as in REFUSED_BY_THE_WAY))

    def forget(self) -> None:
        """A round was not written: nothing of it is known."""
        self._seen.forget()
        self._to_recount = {}

    def _unseen(self, found: Iterable[DiscoveredLink]) -> Iterable[DiscoveredLink]:
        """Each uri once, by its shortest way, with the number of pages that name it here."""
        see = self._seen.see
        nearest: dict[bytes, DiscoveredLink] = {}
        times: Counter[bytes] = Counter()
        for link in found:
            uri = link.uri
            if seen := see(uri):
                if is_time_to_recount(seen):
                    self._to_recount[link.domain, uri] = None
                continue
            known = nearest.setdefault(uri, link)
            if known is not link:
                times[uri] += 1
                if (link.depth, link.redirects) < (known.depth, known.redirects):
                    nearest[uri] = link
        for uri, more in times.items():
            nearest[uri] = nearest[uri]._replace(references=max(nearest[uri].references, more + 1))
        return nearest.values()

    def _wanted(self, scope: Scope, found: Iterable[DiscoveredLink]) -> dict[DiscoveredLink, Site]:
        """Those in scope that were not seen lately, with their sites."""
        unseen = self._unseen(found)
        sites = {link: scope.site_at(link.url, _plain(link.domain)) for link in unseen}
        wanted = {link: site for link, site in sites.items() if site is not None}
        if len(wanted) < len(sites):
            self.refused[RefusalKind.OUT_OF_SCOPE] += len(sites) - len(wanted)
        return wanted

    def _record(
        self,
        scope: Scope,
        link: DiscoveredLink,
        site: Site,
        now: int,
        rules: ParameterRound | None,
        stand_ins: list[DiscoveredLink],
    ) -> LinkRecord:
        page = link.page
        refusal = scope.refusal(site, page, link.depth) or _refusal_by_the_way(link, now, self._settings)
        record = LinkRecord(
            url=link.url,
            discovered=now,
            depth=link.depth,
            source=link.source,
            references=link.references,
            nesting=link.nesting,
            redirects=link.redirects,
        )
        if refusal is not None:
            self.refused[refusal.kind] += 1
            return record.hide(refusal)
        reduced = stand_in(rules, scope, link.domain, page, link.depth) if rules else None
        if rules is None or reduced is None or is_sampled(page.uri, self._settings.rule_sample, reduced.doubt):
            return record
        rules.hid(link.domain, reduced)
        stand_ins.append(link._replace(uri=reduced.page.uri.encode(), url=reduced.page.url))
        return hidden(record, reduced)


def refusal_of(scope: Scope, link: DiscoveredLink, now: int, settings: DispatcherSettings) -> Refusal | None:
    """Why a link is not crawled though it may be known; None if it is crawled."""
    return scope.judge(link.page, link.depth).refusal or _refusal_by_the_way(link, now, settings)


def _refusal_by_the_way(link: DiscoveredLink, now: int, settings: DispatcherSettings) -> Refusal | None:
    return _redirect_refusal(link, settings) or _trap_of(link, now, settings)


def _redirect_refusal(link: DiscoveredLink, settings: DispatcherSettings) -> Refusal | None:
    """A redirect is no step away from a seed, so a chain of them would never end by its depth."""
    if link.redirects <= settings.redirect_hops:
        return None
    return Refusal(RefusalKind.REDIRECTS, f"{link.redirects} in a row, over {settings.redirect_hops}")


def _trap_of(link: DiscoveredLink, now: int, settings: DispatcherSettings) -> Refusal | None:
    """Whether the step to it, from a page of the same host, is one of endlessly many."""
    source, host = link.source.encode(), host_of(link.uri)
    if host_of(source) != host:
        return None
    return trap_after(source[len(host) :].decode(), link.uri[len(host) :].decode(), link.depth, now, settings)


@lru_cache(maxsize=65_536)
def _plain(domain: bytes) -> Domain:
    return plain_domain(domain.decode())

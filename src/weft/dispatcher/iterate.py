"""The dispatcher: walks over the domains that have work and hands their next segments to the control plane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from weft import failpoints
from weft.clock import Clock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.budgets import Budgets
from weft.dispatcher.parameters.choosing import Filtering
from weft.dispatcher.parameters.hiding import HandRules
from weft.dispatcher.parameters.holding import Holding
from weft.dispatcher.reconsider import Reconsideration
from weft.dispatcher.records import DOMAIN_ROW, WORK, Place, decode_work, list_row, split_listed, work_column
from weft.dispatcher.said import Said
from weft.dispatcher.scope import Scope, Verdict
from weft.dispatcher.segment import Chosen, choose
from weft.dispatcher.work import LinkRound
from weft.linkindex.cells import Cells
from weft.linkindex.keys import BASES
from weft.mgmt.api import DispatcherCalls
from weft.mgmt.values import Reopen
from weft.model.domain import plain_domain, reversed_domain
from weft.model.host import web_host_of
from weft.model.site import Site
from weft.model.url import PageUrl, Uri, domain_of
from weft.store.api import Batch, Store
from weft.store.tables import Table

DOMAINS_A_STEP: Final = 50
"""Domains that one step serves: their segments are one call and one batch."""


class Step(NamedTuple):
    """What a step did."""

    domains: int
    given: int
    hidden: int
    looked_at: int = 0
    """Links and references that were looked at again, because a rule is gone or something else is said."""


@dataclass
class _Turn:
    """What one step works with, and what came of it."""

    scope: Scope
    links: LinkRound
    budgets: Budgets
    filtering: Filtering
    wanted: list[Reopen] = field(default_factory=list)
    domains: int = 0
    hidden: int = 0


class Dispatcher:
    """Hands over first, then writes that it did: cut off in between, the same links are handed over again, which
    changes nothing."""

    def __init__(self, store: Store, mgmt: DispatcherCalls, settings: DispatcherSettings, clock: Clock) -> None:
        self._store, self._mgmt, self._settings, self._clock = store, mgmt, settings, clock
        self._from: tuple[int, bytes] = (0, b"")
        """Base and domain to go on with: those at the front of the list must not be all that is ever served."""
        self._by_hand = HandRules(store)
        self._said = Said(store, settings)
        self._holding = Holding(settings.rule_variants if settings.learn_parameters else 0)

    @property
    def low_water(self) -> int:
        """A domain gets its next segment when the last one is nearly used up."""
        return max(1, self._settings.segment_size // 2)

    def step(self, scope: Scope, room: int) -> Step:
        """Serve some domains that have work, with at most about `room` links."""
        now = self._clock.now()
        links, budgets = LinkRound(self._store, self.low_water), Budgets(self._store)
        filtering = Filtering(self._store, links, self._settings, scope, now)
        again = Reconsideration(self._store, links, scope, budgets, self._settings, now).look()
        turn = _Turn(scope, links, budgets, filtering)
        for domain in islice(self._in_order(scope, links, now), DOMAINS_A_STEP):
            if len(turn.wanted) >= room:
                break
            self._serve(domain, turn, now)
        if turn.wanted:
            self._mgmt.reopen(turn.wanted)
        failpoints.point("dispatcher.handed_over")
        heard = self._said.changes(scope)
        # What is said now comes last: it begins a look anew that is under way.
        self._write({**links.cells(), **filtering.cells(self._by_hand), **again.cells, **heard}, budgets)
        failpoints.point("dispatcher.written")
        looked_at = filtering.looked_at + again.looked_at + bool(heard)
        return Step(turn.domains, len(turn.wanted), turn.hidden, looked_at)

    def _serve(self, domain: bytes, turn: _Turn, now: int) -> None:
        """Take or hide the links of a domain's next segment."""
        turn.domains += 1
        if not turn.links.works([domain])[domain].outstanding:
            self._holding.none_is_under_way(domain)
        segment = choose(self._store, turn.links, domain, self._settings, now)
        turn.filtering.prepare(domain, (chosen.uri for chosen in segment))
        for chosen in segment:
            if turn.links.read([(domain, chosen.uri)])[0] != chosen.record:
                # It went with another one of this segment.
                continue
            page = PageUrl(chosen.record.url, Uri(chosen.uri.decode()), plain_domain(domain.decode()))
            verdict = self._judge(turn, domain, chosen, page)
            if verdict is None or verdict.refusal:
                turn.hidden += 1
                if verdict is not None and verdict.refusal:
                    turn.links.put(domain, chosen.uri, chosen.record.hide(verdict.refusal))
            elif chosen.record.fetched or not self._holding.holds(domain, page.uri):
                self._take(turn, domain, chosen, verdict.site)

    def _judge(self, turn: _Turn, domain: bytes, chosen: Chosen, page: PageUrl) -> Verdict | None:
        """Again, for something may have been said or learned since the link was found. None: another stands for it."""
        verdict = turn.scope.judge(page, chosen.record.depth)
        if not verdict.refusal and turn.filtering.hides(domain, page, chosen.record):
            return None
        if verdict.refusal or verdict.site is None or chosen.record.fetched:
            return verdict
        return Verdict(verdict.site, turn.budgets.exhausted(verdict.site))

    def _take(self, turn: _Turn, domain: bytes, chosen: Chosen, site: Site | None) -> None:
        if site is not None and not chosen.record.fetched:
            turn.budgets.take(site)
        priority = (site.settings.priority or 0) if site else 0
        turn.wanted += [_reopening(each, priority) for each in _given(turn.links, domain, chosen, turn.filtering)]

    def came(self, uris: Iterable[str]) -> None:
        """Fetches of these ended, and what they teach is written."""
        for uri in uris:
            if "?" in uri:
                self._holding.came(reversed_domain(domain_of(Uri(uri))).encode(), uri)

    def _write(self, cells: Cells, budgets: Budgets) -> None:
        if cells:
            self._store.write(Batch({**cells, **budgets.cells()}), self._store.last_seq + 1)

    def _in_order(self, scope: Scope, links: LinkRound, now: int) -> Iterator[bytes]:
        """Domains that have work: by priority, and those of one priority in turn."""
        priorities = scope.priorities
        works = links.works(priorities)
        ready = [domain for domain, work in works.items() if work.listed is not None and work.listed <= now]
        ready.sort(key=lambda domain: (priorities[domain], domain))
        yield from (domain for domain in ready if priorities[domain] < 0)
        yield from (domain for domain in self._domains(now) if domain not in priorities)
        yield from (domain for domain in ready if priorities[domain] > 0)

    def _domains(self, now: int) -> Iterator[bytes]:
        """Domains that have work, from where the last step stopped, once around."""
        first, after = self._from
        for number in range(BASES + 1):
            base = (first + number) % BASES
            for domain in self._listed(base, now):
                is_behind = number == 0 and domain <= after
                is_around = number == BASES and domain > after
                if not (is_behind or is_around):
                    self._from = base, domain
                    yield domain

    def _listed(self, base: int, now: int) -> list[bytes]:
        """In order of their names: the moments say only who may be served."""
        end = (now + 1).to_bytes(8, "big")
        found = []
        for cell in self._store.scan(Table.LINKS, list_row(base), WORK):
            if cell.qualifier >= end:
                break
            found.append(split_listed(cell.qualifier)[1])
        return sorted(found)

    def outstanding(self) -> int:
        """Links in the control plane's hands, of all domains."""
        total = 0
        for row in self._store.rows(Table.LINKS, DOMAIN_ROW):
            cell = self._store.get(Table.LINKS, [work_column(row[len(DOMAIN_ROW) :])])[0]
            total += decode_work(cell.value).outstanding if cell else 0
        return total


def _given(links: LinkRound, domain: bytes, chosen: Chosen, filtering: Filtering) -> list[Chosen]:
    """Put a link into the control plane's hands, and with a sample what it is to be compared to."""
    companion = filtering.companion(domain, chosen.uri)
    taken = [chosen, *([Chosen(*companion, "to compare")] if companion else [])]
    for each in taken:
        links.put(domain, each.uri, msgspec.structs.replace(each.record, place=Place.GIVEN, reason=""))
    return taken


def _reopening(chosen: Chosen, priority: int) -> Reopen:
    record = chosen.record
    return Reopen(
        uri=chosen.uri.decode(),
        url=record.url,
        web_host=web_host_of(record.url),
        after=record.fetched,
        etag=record.etag,
        last_modified=record.last_modified,
        priority=priority + record.depth,
    )

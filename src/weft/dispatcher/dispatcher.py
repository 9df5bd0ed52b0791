"""The dispatcher: visits the domains that have work and hands their next segments over to the control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from weft import failpoints
from weft.clock import Clock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.budgets import Budgets
from weft.dispatcher.domain_limit import Entry
from weft.dispatcher.domain_work import WORK, list_row, split_listed, works
from weft.dispatcher.fetch_results import SOON
from weft.dispatcher.link_records import LinkPhase
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.hidden_links import UserRuleChanges
from weft.dispatcher.parameters.segment_filter import SegmentFilter
from weft.dispatcher.parameters.variant_limit import VariantLimit
from weft.dispatcher.reconsider import Reconsideration
from weft.dispatcher.scope import Scope, ScopeVerdict
from weft.dispatcher.segment import ChosenLink, choose
from weft.dispatcher.site_changes import SiteChanges
from weft.dispatcher.stored_time import cut_waits, noted
from weft.dispatcher.wishes import Wishes
from weft.linkindex.cells import Cells
from weft.mgmt.api import DispatcherCalls
from weft.mgmt.values import Reopen
from weft.model.domain import plain_domain, reversed_domain
from weft.model.host import web_host_of
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site
from weft.model.url import PageUrl, Uri, domain_of
from weft.model.versions import BASES
from weft.store.api import Batch, Store
from weft.store.tables import Table

DOMAINS_A_STEP: Final = 50
"""Domains that one step serves, with one call and one batch."""
HEAVY_SEGMENT: Final = 20
"""Links of a domain whose pages take long to load that are under way, about: they would keep others waiting that could
be loaded soon."""

NO_PLACE_WAIT: Final = 3_600_000
"""Milliseconds until a domain that did not answer is tried again, if there is no place for it now."""


class DispatchStep(NamedTuple):
    """What a step did."""

    domains: int
    given: int
    hidden: int
    looked_at: int = 0
    """Links and references that were reconsidered because a rule was dropped or the settings of a site changed."""
    has_new_sites: bool = False
    """Whether the sites should be read again, because redirects led to new ones."""


@dataclass
class _StepState:
    """What one step works with and what it has done so far."""

    scope: Scope
    links: LinkRound
    budgets: Budgets
    filter: SegmentFilter
    is_heavy: Callable[[str], bool]
    wanted: list[Reopen] = field(default_factory=list)
    taken: list[tuple[bytes, ChosenLink]] = field(default_factory=list)
    """The domain and the link of each of `wanted`."""
    domains: int = 0
    hidden: int = 0


class Dispatcher:
    """Hands links over first, then writes that it did. After a crash in between they are handed over again, which
    changes nothing."""

    def __init__(
        self,
        store: Store,
        mgmt: DispatcherCalls,
        settings: DispatcherSettings,
        clock: Clock,
        fetch_conditions: bytes = b"",
    ) -> None:
        """`fetch_conditions` is a hash of the settings under which fetches succeed or fail, whatever the site."""
        self._store, self._mgmt, self._settings, self._clock = store, mgmt, settings, clock
        self._from: tuple[int, bytes] = (0, b"")
        """The base and domain where the next step continues, so that every domain gets its turn."""
        self._user_rules = UserRuleChanges(store)
        self._site_changes = SiteChanges(store, settings, fetch_conditions)
        self._wishes = Wishes(mgmt, settings)
        self._variants = VariantLimit(settings.rule_variants if settings.learn_parameters else 0)

    @property
    def low_water(self) -> int:
        """A domain gets its next segment when the last one is nearly used up."""
        return max(1, self._settings.segment_size // 2)

    def step(self, scope: Scope, room: int, is_heavy: Callable[[str], bool] = lambda domain: False) -> DispatchStep:
        """Serve some domains that have work, with at most about `room` links.

        `is_heavy` tells of which domains few links should be under way, because their pages take long to load.
        """
        now = self._clock.now()
        cut_waits(self._store, self.low_water, now)
        links, budgets = LinkRound(self._store, self.low_water), Budgets(self._store)
        segment_filter = SegmentFilter(self._store, links, self._settings, scope, now)
        reconsidered = Reconsideration(self._store, links, scope, budgets, self._settings, now).run()
        wished = self._wishes.look(links, scope, now)
        state = _StepState(scope, links, budgets, segment_filter, is_heavy)
        for domain in islice(self._in_order(scope, links, now), DOMAINS_A_STEP):
            if len(state.wanted) >= room:
                break
            self._serve(domain, state, now)
        given = self._hand_over(state)
        failpoints.point("dispatcher.handed_over")
        changed_sites = self._site_changes.cells(scope)
        filter_cells = segment_filter.cells(self._user_rules)
        # Changes of sites come last: they restart a reconsideration that is under way.
        self._write({**links.cells(), **filter_cells, **reconsidered.cells, **changed_sites}, budgets)
        failpoints.point("dispatcher.written")
        self._wishes.settle(wished)
        looked_at = segment_filter.looked_at + reconsidered.looked_at + bool(changed_sites) + wished.has_done_something
        return DispatchStep(state.domains, given, state.hidden, looked_at, bool(wished.led_to))

    def _hand_over(self, state: _StepState) -> int:
        """Make the chosen links pending; returns how many are.

        A link that was fetched before is not pending if the rest of its chunk is not built yet, or if it was handed
        over already: it waits for another step, or for its result.
        """
        answers = self._mgmt.reopen(state.wanted) if state.wanted else []
        for (domain, chosen), is_pending in zip(state.taken, answers, strict=True):
            if not is_pending and chosen.record.fetched:
                state.links.put(domain, chosen.uri, chosen.record)
        return sum(answers)

    def _serve(self, domain: bytes, state: _StepState, now: int) -> None:
        """Take or hide the links of a domain's next segment."""
        scope = state.scope
        state.domains += 1
        outstanding, settings = state.links.works([domain])[domain].outstanding, self._settings
        if not outstanding:
            self._variants.none_is_under_way(domain)
        if state.is_heavy(plain_domain(domain.decode())):
            if outstanding >= HEAVY_SEGMENT:
                return
            settings = replace(settings, segment_size=min(HEAVY_SEGMENT, settings.segment_size))
        segment = choose(self._store, state.links, domain, settings, now)
        state.filter.prepare(domain, (chosen.uri for chosen in segment))
        for chosen in segment:
            if state.links.read([(domain, chosen.uri)])[0] != chosen.record:
                # It was taken together with another link of this segment.
                continue
            page = PageUrl(chosen.record.url, Uri(chosen.uri.decode()), plain_domain(domain.decode()))
            verdict = self._judge(state, domain, chosen, page)
            if verdict is not None and verdict.site is scope.anywhere:
                verdict = self._entered(state, domain, chosen, verdict, now)
            if verdict is None or verdict.refusal:
                state.hidden += 1
                if verdict is not None and verdict.refusal:
                    state.links.put(domain, chosen.uri, chosen.record.hide(verdict.refusal))
            elif chosen.record.fetched or not self._variants.must_wait(domain, page.uri):
                self._take(state, domain, chosen, verdict.site)

    def _judge(self, state: _StepState, domain: bytes, chosen: ChosenLink, page: PageUrl) -> ScopeVerdict | None:
        """Settings and rules may have changed since the link was found. None: another link is fetched in its place."""
        verdict = state.scope.judge(page, chosen.record.depth)
        if not verdict.refusal and state.filter.hides(domain, page, chosen.record):
            return None
        if verdict.refusal or verdict.site is None or chosen.record.fetched:
            return verdict
        return ScopeVerdict(verdict.site, state.budgets.exhausted(verdict.site))

    def _entered(
        self, state: _StepState, domain: bytes, chosen: ChosenLink, verdict: ScopeVerdict, now: int
    ) -> ScopeVerdict | None:
        """A domain that did not answer must find a place again, and one that was not entered yet must find one.

        None: it is tried later.
        """
        limit, record = state.links.domain_limit, chosen.record
        if verdict.refusal:
            limit.fetched(domain, has_answered=False)
            return verdict
        is_new = bool(record.source) and not record.fetched and not limit.is_entered(domain)
        if record.is_wanted_at_once or not (is_new or limit.gave_its_place_back(domain)):
            return verdict
        if limit.enter(domain, record.source, self._settings.max_domains) is Entry.ENTERED:
            return verdict
        if record.fetched:
            state.links.put(domain, chosen.uri, msgspec.structs.replace(record, due=now + NO_PLACE_WAIT))
            return None
        return verdict._replace(refusal=Refusal(RefusalKind.DOMAINS, "there is no place to try this domain"))

    def _take(self, state: _StepState, domain: bytes, chosen: ChosenLink, site: Site | None) -> None:
        if site is not None and not chosen.record.fetched:
            state.budgets.take(site)
        priority = (site.settings.priority or 0) if site else 0
        taken = _given(state.links, domain, chosen, state.filter)
        state.wanted += [_reopening(each, priority, state.scope) for each in taken]
        state.taken += [(domain, each) for each in taken]

    def fetches_ended(self, uris: Iterable[str]) -> None:
        """Fetches of these ended, and what was learned from them is written."""
        for uri in uris:
            if "?" in uri:
                self._variants.fetch_ended(reversed_domain(domain_of(Uri(uri))).encode(), uri)

    def _write(self, cells: Cells, budgets: Budgets) -> None:
        if cells:
            marks = noted(self._store, self._clock.now())
            self._store.write(Batch({**cells, **budgets.cells(), **marks}), self._store.last_seq + 1)

    def _in_order(self, scope: Scope, links: LinkRound, now: int) -> Iterator[bytes]:
        """Domains that have work: by priority, and those of one priority in turn."""
        priorities = scope.priorities
        known = links.works(priorities)
        ready = [domain for domain, work in known.items() if work.listed is not None and work.listed <= now]
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
        """Sorted by name: their moments only decide which of them may be served."""
        end = (now + 1).to_bytes(8, "big")
        found = []
        for cell in self._store.scan(Table.LINKS, list_row(base), WORK):
            if cell.qualifier >= end:
                break
            found.append(split_listed(cell.qualifier)[1])
        return sorted(found)

    def retrying(self) -> int:
        """Links that wait to be fetched again within this crawl, because their servers asked us to slow down."""
        last = self._clock.now() + int(self._settings.retry_patience * 1000) + SOON
        listed = [domain for base in range(BASES) for domain in self._listed(base, last)]
        found = LinkRound(self._store, self.low_water).works(listed)
        return sum(work.retrying for work in found.values())

    def outstanding(self) -> int:
        """Links of all domains that were handed over and are not back yet."""
        return sum(work.outstanding for _, work in works(self._store))


def _given(links: LinkRound, domain: bytes, chosen: ChosenLink, segment_filter: SegmentFilter) -> list[ChosenLink]:
    """Hand a link over; with a sample also the link that it is to be compared to."""
    companion = segment_filter.companion(domain, chosen.uri)
    taken = [chosen, *([ChosenLink(*companion, "to compare")] if companion else [])]
    for each in taken:
        links.put(domain, each.uri, msgspec.structs.replace(each.record, phase=LinkPhase.GIVEN, reason=""))
    return taken


def _reopening(chosen: ChosenLink, priority: int, scope: Scope) -> Reopen:
    record = chosen.record
    # Without the capture that they came with, a 304 could not say what it stands for. And a sitemap must be read again
    # if the scope has changed: it may name pages that were out of scope.
    has_validators = record.original is not None and record.scope in (0, scope.digest)
    return Reopen(
        uri=chosen.uri.decode(),
        url=record.url,
        web_host=web_host_of(record.url),
        after=record.fetched,
        etag=record.etag if has_validators else "",
        last_modified=record.last_modified if has_validators else "",
        original=record.original,
        priority=priority + record.depth,
        at_once=record.is_wanted_at_once,
    )

"""A crawl of one site pattern in this process: discovery, dispatcher and rules are real, only the sockets are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rules_measuring import Measured, measure
from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings, UrlSettings
from weft.demo.web.patterns.pages import html_of
from weft.demo.web.patterns.pattern import Answer, Server, split_target
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import LINK, LinkPhase, LinkRecord, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.learn_from_fetch import learn_from_fetch
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.scope import Scope
from weft.html import parse_page
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import Reopen
from weft.model.domain import reversed_domain
from weft.model.refusal import RefusalKind
from weft.model.site import Site
from weft.model.url import PageUrl, UrlRules
from weft.store.api import Batch, Store
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table

ORIGIN = "https://www.shop.com"
RULES = UrlRules(UrlSettings().strip)
SETTINGS = DispatcherSettings()
MOST = 1300
"""Fetches of one crawl; without rules some patterns have no end."""


class Handed(MemoryMgmt):
    """A control plane that tells at once what was handed to it."""

    urls: list[str] = []  # noqa: RUF012 - replaced, never changed

    def reopen(self, wanted: Sequence[Reopen]) -> list[bool]:
        self.urls = [*self.urls, *(link.url for link in wanted)]
        return super().reopen(wanted)

    def take(self) -> list[str]:
        urls, self.urls = sorted(self.urls), []
        return urls


class Simulation:
    def __init__(self, server: Server, store: Store, settings: DispatcherSettings = SETTINGS) -> None:
        self.server, self.settings, self.visits = server, settings, 0
        self.clock = ManualClock(86_400_000)
        self.store, self.mgmt = store, Handed(self.clock)
        self.scope = Scope([Site(name="www.shop.com")], settings)
        self.discovery = Discovery(settings)
        self.dispatcher = Dispatcher(self.store, self.mgmt, settings, self.clock)
        self.fetched: list[str] = []
        start = RULES.identify(ORIGIN + "/")
        self._load(*self._round(), [DiscoveredLink(*_place(start), start.url, 0, "")])

    def run(self, most: int = MOST) -> None:
        """Crawl until nothing is left, or enough was fetched."""
        while len(self.fetched) < most:
            step = self.dispatcher.step(self.scope, 1000)
            given = self.mgmt.take()
            self.fetch(given)
            if not (given or step.hidden or step.looked_at):
                break

    def records(self) -> list[LinkRecord]:
        cells = self.store.scan_rows(Table.LINKS, b"l:")
        return [decode_record(cell.value) for cell in cells if cell.family == LINK]

    def fetch(self, urls: list[str]) -> None:
        """Fetch these and load them in one round, as a builder does."""
        links, rules = self._round()
        found: list[DiscoveredLink] = []
        for url in urls:
            self.clock.advance(1)
            self.fetched.append(url)
            page = RULES.identify(url)
            record = links.read([_place(page)])[0] or LinkRecord(url=url)
            fetched, follow = self._read(page, self._visit(url))
            after = after_fetch(record, fetched, self.settings)
            links.put(*_place(page), after)
            if rules:
                learn_from_fetch(rules, links, _place(page), after, fetched)
            found += [DiscoveredLink(*_place(each), each.url, record.depth + 1, str(page.uri)) for each in follow]
        self._load(links, rules, found)
        self.dispatcher.fetches_ended(RULES.identify(url).uri for url in urls)

    def _visit(self, url: str) -> Answer:
        self.visits += 1
        return self.server(*split_target(target_of(url)), self.visits)

    def _read(self, page: PageUrl, answer: Answer) -> tuple[Fetched, list[PageUrl]]:
        now = self.clock.now()
        if answer.location:
            target = RULES.join(page.url, answer.location)
            return Fetched(kind=FetchKind.MOVED, at=now, status=answer.status, location=target.uri), [target]
        if answer.status != 200:
            return Fetched(kind=FetchKind.GONE, at=now, status=answer.status), []
        parsed = parse_page(html_of(answer), "text/html; charset=utf-8")
        follow = [RULES.join(page.url, link.href) for link in parsed.links]
        return Fetched(kind=FetchKind.PAGE, at=now, status=200, fingerprint=parsed.fingerprint), follow

    def _round(self) -> tuple[LinkRound, ParameterRound | None]:
        rules = ParameterRound(self.store, self.settings) if self.settings.learn_parameters else None
        return LinkRound(self.store, self.dispatcher.low_water), rules

    def _load(self, links: LinkRound, rules: ParameterRound | None, found: list[DiscoveredLink]) -> None:
        self.discovery.offer(links, self.scope, found, self.clock.now(), rules)
        cells = {**links.cells(), **(rules.cells() if rules else {})}
        if cells:
            self.store.write(Batch(cells), self.store.last_seq + 1)

    def measured(self) -> Measured:
        records = self.records()
        hidden = [target_of(record.url) for record in records if record.refused_as is RefusalKind.PARAMETERS]
        waiting = [target_of(record.url) for record in records if record.phase in (LinkPhase.NEW, LinkPhase.GIVEN)]
        return measure(self.server, [target_of(url) for url in self.fetched], hidden, waiting)


def target_of(url: str) -> str:
    return url[len(ORIGIN) :]


def simulate(server: Server, settings: DispatcherSettings = SETTINGS, most: int = MOST) -> Measured:
    with TemporaryDirectory() as directory, RocksStore(Path(directory) / "store") as store:
        simulation = Simulation(server, store, settings)
        simulation.run(most)
        return simulation.measured()


def _place(page: PageUrl) -> tuple[bytes, bytes]:
    return reversed_domain(page.domain).encode(), page.uri.encode()

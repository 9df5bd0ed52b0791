"""A store in which fetches are taken and links are found, one after the other."""

from __future__ import annotations

import msgspec

from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.dispatcher import Dispatcher, DispatchStep
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import LINK, LinkRecord, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.learn_from_fetch import learn_from_fetch
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.parameters.rule_list import ListedRule, rules_of_domain
from weft.dispatcher.scope import Scope
from weft.mgmt.memory import MemoryMgmt
from weft.model.domain import reversed_domain
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRules
from weft.store.api import Batch, Store
from weft.store.memory import MemoryStore
from weft.store.tables import Table

RULES = UrlRules()
NEVER_SAMPLED = DispatcherSettings(segment_size=100, rule_sample=0)
HOUR = 3600


class Learning:
    """A store in which fetches are taken and links found, with a clock of their own."""

    def __init__(self, settings: DispatcherSettings = NEVER_SAMPLED, store: Store | None = None) -> None:
        self.settings, self.clock = settings, ManualClock(86_400_000)
        self.store = store if store is not None else MemoryStore()
        self.say()
        self.discovery = Discovery(settings)
        self.dispatcher = Dispatcher(self.store, MemoryMgmt(self.clock), settings, self.clock)

    def say(self, **about: object) -> None:
        self.scope = Scope(
            [Site(name="test.com", scope="domains", settings=msgspec.convert(about, SiteSettings))], self.settings
        )

    def fetch(
        self, target: str, text: int, kind: FetchKind = FetchKind.PAGE, host: str = "test.com", status: int = 200
    ) -> None:
        self.clock.advance(1)
        page = RULES.identify(f"https://{host}{target}")
        place = reversed_domain(page.domain).encode(), page.uri.encode()
        links, rules = LinkRound(self.store, 1), ParameterRound(self.store, self.settings)
        record = links.read([place])[0] or LinkRecord(url=page.url)
        fetched = Fetched(kind=kind, at=self.clock.now(), status=status, fingerprint=text)
        after = after_fetch(record, fetched, self.settings)
        links.put(*place, after)
        learn_from_fetch(rules, links, place, after, fetched)
        self._write({**links.cells(), **rules.cells()})

    def find(self, *targets: str, host: str = "test.com") -> None:
        links, rules = LinkRound(self.store, 1), ParameterRound(self.store, self.settings)
        pages = [RULES.identify(f"https://{host}{target}") for target in targets]
        found = [DiscoveredLink(b"com.test", page.uri.encode(), page.url, 1, "com.test") for page in pages]
        self.discovery.offer(links, self.scope, found, self.clock.now(), rules)
        self._write({**links.cells(), **rules.cells()})

    def _write(self, cells: dict[bytes, bytes | None]) -> None:
        if cells:
            self.store.write(Batch(cells), self.store.last_seq + 1)

    def step(self) -> DispatchStep:
        return self.dispatcher.step(self.scope, 1000)

    def record(self, target: str) -> LinkRecord:
        uri = RULES.identify(f"https://test.com{target}").uri.encode()
        cells = self.store.scan_rows(Table.LINKS, b"l:")
        return next(decode_record(cell.value) for cell in cells if cell.family == LINK and cell.qualifier == uri)

    def phase(self, target: str) -> str:
        return self.record(target).phase.value

    def reduced(self, target: str) -> str:
        page = RULES.identify(f"https://test.com{target}")
        reduced = ParameterRound(self.store, self.settings).reduce(b"com.test", page)
        return (reduced.page if reduced else page).url.removeprefix("https://test.com")

    def rules(self) -> list[ListedRule]:
        return list(rules_of_domain(self.store, b"com.test", self.settings))

"""`weft bench rules`: duplicates that the learned parameter rules avoid, and pages that they hide wrongly."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rules_patterns import PATTERNS, Answer, Pattern, Server, split_target
from weft.clock import ManualClock
from weft.config.crawl_sections import DispatcherSettings
from weft.dispatcher.discover import Discovery, Found
from weft.dispatcher.iterate import Dispatcher
from weft.dispatcher.parameters.hiding import REASON
from weft.dispatcher.parameters.learning import ParameterRound
from weft.dispatcher.parameters.query import name_of, path_of, tokens_of
from weft.dispatcher.parameters.results import take_result
from weft.dispatcher.records import LINK, LinkRecord, Place, decode_record
from weft.dispatcher.results import Fetched, Kind, after_fetch
from weft.dispatcher.scope import Scope
from weft.dispatcher.work import LinkRound
from weft.html import parse_page
from weft.html.values import ParsedPage
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import Reopen, Site
from weft.model.domain import reversed_domain
from weft.model.url import PageUrl, UrlRules
from weft.store.api import Batch, Store
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table

START = "https://www.shop.com/"
RULES = UrlRules()
SETTINGS = DispatcherSettings(segment_size=10)
MOST = 1300
"""Fetches of one crawl; some patterns have no end."""


class Measured(NamedTuple):
    fetched: int
    pages: int
    """Different pages that were fetched."""
    wrongly_hidden: int
    duplicates_known: int
    """Links fetched or hidden that lead to a page which another one leads to as well."""
    duplicates_fetched: int
    parted: int = 0
    """Pages that had several fingerprints."""
    merged: int = 0
    """Fingerprints that several pages had."""

    @property
    def avoided(self) -> float:
        """Share of the known duplicates that were not fetched."""
        return 1 - self.duplicates_fetched / self.duplicates_known if self.duplicates_known else 1.0

    @property
    def wrong(self) -> float:
        """Share of the known pages that no fetch will ever show."""
        total = self.pages + self.wrongly_hidden
        return self.wrongly_hidden / total if total else 0.0


@dataclass
class Visits:
    """A server that counts its visits, and what it showed."""

    server: Server
    count: int = 0
    shown: list[str] = field(default_factory=list)
    texts: set[tuple[str, int]] = field(default_factory=set)
    """Pages with the fingerprints that they had."""

    def visit(self, url: str) -> Answer:
        self.count += 1
        answer = self.server(*split_target(url[len(START) - 1 :]), self.count)
        if answer.page:
            self.shown.append(answer.page)
        return answer

    def truth(self, url: str) -> str:
        """Which page a URL is, without a visit."""
        return self.server(*split_target(url[len(START) - 1 :]), 1).page


def document(answer: Answer) -> ParsedPage:
    links = "".join(f'<a href="{escape(href)}">{escape(anchor)}</a> ' for href, anchor in answer.links)
    if not answer.text:
        return parse_page(b"<title></title><div id=app></div><script>draw()</script>", "text/html")
    text = answer.text.replace("\n", "</p><p>")
    return parse_page(f"<title>Shop</title><p>{text}</p><nav>{links}</nav>".encode(), "text/html; charset=utf-8")


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
    """A crawl of one host through the real discovery, dispatcher and rules; only the sockets are left out."""

    def __init__(
        self, server: Server, store: Store, settings: DispatcherSettings = SETTINGS, site: Site | None = None
    ) -> None:
        self.visits, self.settings = Visits(server), settings
        self.clock = ManualClock(86_400_000)
        self.store, self.mgmt = store, Handed(self.clock)
        self.scope = Scope([site or Site(name="www.shop.com")], settings)
        self.discovery = Discovery(settings)
        self.dispatcher = Dispatcher(self.store, self.mgmt, settings, self.clock)
        self.fetched: list[str] = []
        start = RULES.identify(START)
        self._load(*self._round(), [Found(*_place(start), start.url, 0, "")])

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
        found: list[Found] = []
        for url in urls:
            self.clock.advance(1)
            self.fetched.append(url)
            page = RULES.identify(url)
            record = links.read([_place(page)])[0] or LinkRecord(url=url)
            fetched, follow = self._read(page, self.visits.visit(url))
            after = after_fetch(record, fetched, self.settings)
            links.put(*_place(page), after)
            if rules:
                take_result(rules, links, _place(page), after, fetched)
            found += [Found(*_place(each), each.url, record.depth + 1, str(page.uri)) for each in follow]
        self._load(links, rules, found)

    def _read(self, page: PageUrl, answer: Answer) -> tuple[Fetched, list[PageUrl]]:
        now = self.clock.now()
        if answer.location:
            target = RULES.join(page.url, answer.location)
            return Fetched(kind=Kind.MOVED, at=now, status=answer.status, location=target.uri), [target]
        if answer.status != 200:
            return Fetched(kind=Kind.GONE, at=now, status=answer.status), []
        parsed = document(answer)
        if parsed.fingerprint:
            self.visits.texts.add((answer.page, parsed.fingerprint))
        follow = [RULES.join(page.url, link.href) for link in parsed.links]
        follow = follow or [RULES.join(page.url, href) for href, _ in answer.links]
        return Fetched(kind=Kind.PAGE, at=now, status=200, fingerprint=parsed.fingerprint), follow

    def _round(self) -> tuple[LinkRound, ParameterRound | None]:
        rules = ParameterRound(self.store, self.settings) if self.settings.learn_parameters else None
        return LinkRound(self.store, self.dispatcher.low_water), rules

    def _load(self, links: LinkRound, rules: ParameterRound | None, found: list[Found]) -> None:
        self.discovery.offer(links, self.scope, found, self.clock.now(), rules)
        cells = {**links.cells(), **(rules.cells() if rules else {})}
        if cells:
            self.store.write(Batch(cells), self.store.last_seq + 1)

    def measured(self) -> Measured:
        records = self.records()
        hidden = [record.url for record in records if record.reason.startswith(REASON)]
        waiting = {self.visits.truth(record.url) for record in records if record.place in (Place.NEW, Place.GIVEN)}
        return measure(self.visits, self.fetched, hidden, waiting)


def measure(visits: Visits, fetched: list[str], hidden: list[str], waiting: set[str]) -> Measured:
    """Of the links that were fetched or hidden; those that still wait are neither."""
    pages = set(visits.shown)
    decided = [truth for url in dict.fromkeys([*fetched, *hidden]) if (truth := visits.truth(url))]
    lost = set(decided) - pages - waiting
    fetched_pages = sum(bool(visits.truth(url)) for url in dict.fromkeys(fetched))
    return Measured(
        fetched=len(fetched),
        pages=len(pages),
        wrongly_hidden=len(lost),
        duplicates_known=len(decided) - len(set(decided)),
        duplicates_fetched=max(0, fetched_pages - len(pages)),
        parted=_more_than_one((page, text) for page, text in visits.texts),
        merged=_more_than_one((text, page) for page, text in visits.texts),
    )


def _more_than_one(pairs: Iterable[tuple[object, object]]) -> int:
    """Of the first ones, how many have several second ones."""
    return sum(count > 1 for count in Counter(first for first, _ in set(pairs)).values())


def _place(page: PageUrl) -> tuple[bytes, bytes]:
    return reversed_domain(page.domain).encode(), page.uri.encode()


def crawl_learned(server: Server, settings: DispatcherSettings = SETTINGS) -> Measured:
    with TemporaryDirectory() as directory, RocksStore(Path(directory) / "store") as store:
        simulation = Simulation(server, store, settings)
        simulation.run()
        return simulation.measured()


def crawl_all(server: Server) -> Measured:
    return crawl_learned(server, replace(SETTINGS, learn_parameters=False))


def crawl_pairwise(server: Server) -> Measured:
    """The document's rule: one pair of equal texts on a path, and the parameter is left out on the whole domain."""
    visits = Visits(server)
    queue, known = [START], {START: None}
    fetched: list[str] = []
    hidden: list[str] = []
    by_path: dict[str, dict[str, int]] = {}
    ignored: set[str] = set()
    while queue and len(fetched) < MOST:
        url = queue.pop(0)
        short = _without(url, ignored)
        if short != url:
            hidden.append(url)
            if short not in known:
                known[short] = None
                queue.append(short)
            continue
        fetched.append(url)
        answer = visits.visit(url)
        parsed = document(answer)
        hrefs = [answer.location] if answer.location else [href for href, _ in answer.links]
        for href in hrefs:
            target = RULES.join(url, href).url
            if target not in known:
                known[target] = None
                queue.append(target)
        same_path = by_path.setdefault(path_of(url), {})
        for other, fingerprint in same_path.items():
            if fingerprint == parsed.fingerprint:
                ignored |= _names(url) ^ _names(other) or _differing(url, other)
        same_path[url] = parsed.fingerprint
    return measure(visits, fetched, hidden, {visits.truth(url) for url in queue})


def _without(url: str, names: set[str]) -> str:
    path, _, query = url.partition("?")
    kept = [token for token in tokens_of(query) if name_of(token) not in names]
    return f"{path}?{'&'.join(kept)}" if kept else path


def _names(url: str) -> set[str]:
    return {name_of(token) for token in tokens_of(url.partition("?")[2])}


def _differing(url: str, other: str) -> set[str]:
    tokens = set(tokens_of(url.partition("?")[2])) ^ set(tokens_of(other.partition("?")[2]))
    return {name_of(token) for token in tokens}


CRAWLS: dict[str, Callable[[Server], Measured]] = {
    "learned": crawl_learned,
    "no filter": crawl_all,
    "pairwise": crawl_pairwise,
}


def make(pattern: Pattern, seed: int) -> Server:
    return pattern.make(random.Random(f"{pattern.name} {seed}"))


def main() -> None:
    seeds = [1] if "--quick" in sys.argv else [1, 2, 3]
    print(f"{len(PATTERNS)} site patterns, seeds {seeds}; fetches, share of duplicates avoided, share of pages lost")
    print("* duplicates of which nothing tells beforehand that they are, or that may not teach anything\n")
    heads = "".join(f"  {name:>26}" for name in CRAWLS)
    print(f"{'pattern':32}{heads}\n{'':32}" + f"  {'fetches  avoided    lost':>26}" * len(CRAWLS))
    texts = []
    for pattern in PATTERNS:
        results = {name: [crawl(make(pattern, seed)) for seed in seeds] for name, crawl in CRAWLS.items()}
        name = pattern.name + ("" if pattern.is_promised else " *")
        print(f"{name:32}" + "".join(_cell(pattern, found) for found in results.values()), flush=True)
        texts += [(pattern.is_steady, result) for result in results["no filter"]]
    print("\nfingerprints of the pages, crawled without rules")
    for is_steady, kind in ((True, "pages that say the same"), (False, "pages that change by themselves")):
        found = [result for steady, result in texts if steady is is_steady]
        pages, parted, merged = (sum(getattr(each, name) for each in found) for name in ("pages", "parted", "merged"))
        print(f"{kind:32} {pages:6} pages, {parted} with several fingerprints, {merged} fingerprints of several pages")


def _cell(pattern: Pattern, results: list[Measured]) -> str:
    avoided = min(result.avoided for result in results)
    shown = f"{avoided:8.1%}" if pattern.has_duplicates else f"{'-':>8}"
    lost = max(result.wrong for result in results)
    return f"  {sum(result.fetched for result in results):9} {shown} {lost:7.1%}"


if __name__ == "__main__":
    main()

"""A frontier with its surroundings played by hand: what tests say in a line."""

from __future__ import annotations

from typing import Any

from weft.config.sections import UrlserverSettings
from weft.mgmt.values import ClaimedLink, DocId, LinkState, Outcome
from weft.model.site import SiteSettings
from weft.robots.file import parse
from weft.urlserver.frontier import Frontier
from weft.urlserver.in_flight import SpiderId
from weft.urlserver.mgmt_messages import HostAddress, MgmtReplies
from weft.urlserver.origin_robots import OriginRules
from weft.urlserver.returns import ReturnReason
from weft.wire import Fetch

FOREVER = 10**12
SPIDER = SpiderId(0)
FREE = OriginRules(None, FOREVER, 60_000)


def link(doc_id: int, url: str, claim: int = 1) -> ClaimedLink:
    return ClaimedLink(DocId(doc_id), url, url.split("/")[2], claim)


def known(text: str, expires: int = FOREVER, delay_max: int = 60_000) -> OriginRules:
    return OriginRules(parse(text.encode()).rules_for("weft"), expires, delay_max)


class Driven:
    """Time stands still until a test moves it; hosts are known and free unless a test says otherwise."""

    def __init__(self, *, spiders: int = 1, parts: range = range(256), **settings: Any) -> None:
        self.now = 1_000_000
        self.frontier = Frontier(UrlserverSettings(**settings))
        self.frontier.own(parts, self.now)
        for spider in range(spiders):
            self.frontier.in_flight.connect(SpiderId(spider))
        self.sent: list[tuple[int, Fetch]] = []
        self.doc_id = 0

    def offer(self, *urls: str) -> None:
        links = []
        for url in urls:
            self.doc_id += 1
            links.append(link(self.doc_id, url))
        self.frontier.offer(links, self.now)

    def place(self, name: str, ip: str = "192.0.2.1", expires: int = FOREVER, **more: Any) -> None:
        self.frontier.locate(name, HostAddress(ip, ip, expires, **more), self.now)

    def host(self, name: str, pages: int = 3, ip: str = "192.0.2.1", robots: OriginRules | None = FREE) -> None:
        """A host with pages, whose address and robots.txt are known."""
        self.offer(*(f"https://{name}/{page}" for page in range(pages)))
        self.place(name, ip)
        if name in self.requests.resolve:
            self.requests.resolve.remove(name)
        if robots is not None:
            self.frontier.registry.hosts[name].https = robots
            self.frontier.registry.hosts[name].obey_crawl_delay(robots.delay)
            self.frontier.registry.reschedule(self.frontier.registry.hosts[name], self.now)

    def set_for(self, name: str, **settings: Any) -> None:
        """A user changes what is set for a host's site."""
        self.learn(settings={name: SiteSettings(**settings)})

    def due(self) -> list[Fetch]:
        """What is sent now."""
        sends = list(self.frontier.due(self.now))
        self.sent += ((spider, fetch) for spider, fetch in sends)
        return [fetch for _, fetch in sends]

    def paths(self) -> list[str]:
        return [fetch.url.split("/", 3)[3] for fetch in self.due()]

    def after(self, seconds: float) -> list[Fetch]:
        self.now += round(seconds * 1000)
        return self.due()

    def done(self, fetch: Fetch, **outcome: Any) -> None:
        """The spider says DONE; by default the page was archived."""
        if self.frontier.in_flight.done(SPIDER, fetch.trans_id, self.now):
            self.come_back(fetch, ReturnReason.DONE, **outcome)

    def come_back(self, fetch: Fetch, reason: ReturnReason, *, is_stored: bool = True, **outcome: Any) -> None:
        state = outcome.pop("state", LinkState.ERROR if outcome.get("error") else LinkState.CRAWLED)
        given = {"status": 0 if outcome.get("error") else 200, "claim": 1, **outcome}
        found = Outcome(doc_id=DocId(fetch.doc_id), state=state if is_stored else LinkState.CRAWLING, **given)
        self.frontier.come_back(fetch.trans_id, reason, found, self.now)

    def learn(self, **replies: Any) -> None:
        self.frontier.learn(MgmtReplies(**replies), self.now)

    @property
    def requests(self):
        return self.frontier.requests

    def refused(self) -> dict[int, str]:
        return {result.doc_id: result.error for result in self.requests.refuse}

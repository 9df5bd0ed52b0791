"""A frontier with its surroundings played by hand: what tests say in a line."""

from __future__ import annotations

from weft.config.sections import UrlserverSettings
from weft.mgmt.values import ClaimedLink, DocId, LinkState, Outcome
from weft.robots.file import parse
from weft.urlserver.errands import News, Place
from weft.urlserver.frontier import Frontier
from weft.urlserver.pending import SpiderId
from weft.urlserver.returns import Why
from weft.urlserver.robots import Known
from weft.wire import Fetch

FOREVER = 10**12
SPIDER = SpiderId(0)
FREE = Known(None, FOREVER, 60_000)


def link(doc_id: int, url: str, claim: int = 1) -> ClaimedLink:
    return ClaimedLink(DocId(doc_id), url, url.split("/")[2], claim)


def known(text: str, expires: int = FOREVER, delay_max: int = 60_000) -> Known:
    return Known(parse(text.encode()).rules_for("weft"), expires, delay_max)


class Driven:
    """Time stands still until a test moves it; hosts are known and free unless a test says otherwise."""

    def __init__(self, *, spiders: int = 1, parts: range = range(256), **settings: object) -> None:
        self.now = 1_000_000
        self.frontier = Frontier(UrlserverSettings(**settings))
        self.frontier.own(parts, self.now)
        for spider in range(spiders):
            self.frontier.pendings.connect(SpiderId(spider))
        self.sent: list[tuple[int, Fetch]] = []
        self.doc_id = 0

    def offer(self, *urls: str) -> None:
        links = []
        for url in urls:
            self.doc_id += 1
            links.append(link(self.doc_id, url))
        self.frontier.offer(links, self.now)

    def place(self, name: str, ip: str = "192.0.2.1", expires: int = FOREVER, **more: object) -> None:
        self.frontier.locate(name, Place(ip, ip, expires, **more), self.now)

    def host(self, name: str, pages: int = 3, ip: str = "192.0.2.1", robots: Known | None = FREE) -> None:
        """A host with pages, whose address and robots.txt are known."""
        self.offer(*(f"https://{name}/{page}" for page in range(pages)))
        self.place(name, ip)
        if name in self.errands.resolve:
            self.errands.resolve.remove(name)
        if robots is not None:
            self.frontier.registry.hosts[name].https = robots
            self.frontier.registry.hosts[name].delay = robots.delay
            self.frontier.registry.reschedule(self.frontier.registry.hosts[name], self.now)

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

    def done(self, fetch: Fetch, **outcome: object) -> None:
        """The spider says DONE; by default the page was archived."""
        if self.frontier.pendings.done(SPIDER, fetch.trans_id, self.now):
            self.come_back(fetch, Why.DONE, **outcome)

    def come_back(self, fetch: Fetch, why: Why, *, is_stored: bool = True, **outcome: object) -> None:
        state = outcome.pop("state", LinkState.ERROR if outcome.get("error") else LinkState.CRAWLED)
        given = {"status": 0 if outcome.get("error") else 200, "claim": 1, **outcome}
        found = Outcome(doc_id=fetch.doc_id, state=state if is_stored else LinkState.CRAWLING, **given)
        self.frontier.come_back(fetch.trans_id, why, found, self.now)

    def learn(self, **news: object) -> None:
        self.frontier.learn(News(**news), self.now)

    @property
    def errands(self):
        return self.frontier.errands

    def refused(self) -> dict[int, str]:
        return {result.doc_id: result.error for result in self.errands.refuse}

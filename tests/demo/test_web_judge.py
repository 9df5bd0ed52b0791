"""Rude clients on raw sockets, one for each rule, and what the judge says of them; a polite one gets zeros."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from support.raw_client import AGENT, Answer, Connection, get
from weft.config.sections import UrlSettings
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES, Profile
from weft.demo.web.definition.robots import rules_of
from weft.demo.web.fates import Fate
from weft.demo.web.judge.judge import Report, judge, judge_lines
from weft.demo.web.judge.limits import Limits
from weft.demo.web.log import Line, read_log
from weft.demo.web.server.serving import Served, serving
from weft.demo.web.truth import Truth
from weft.model.url import UrlRules

EASY = Limits(host_per_sec=1e5, ip_per_sec=1e5, user_agent=AGENT)
"""Limits that no client breaks by chance; each test makes one of them hard."""
PROFILE = Profile(closed=1.0, slow=1.0, slow_seconds=30.0)
# By this seed hosts 1 and 2 share an address, and it is not the first.
PLAN = WebPlan(seed=2, hosts=3, pages=4, addresses=2, page_bytes=(300, 900), links=(1, 3), profile=PROFILE)


def broken(report: Report) -> dict[str, int]:
    return {rule.rule: rule.count for rule in report.rules if rule.count}


def page(served: Served, host: int, kind: PageKind) -> str:
    layout = served.world.hosts.numbered(host).layout
    return served.url(host, next(number for number in range(layout.count) if layout.kind(number) is kind))


def robots(served: Served, host: int) -> None:
    get(served, served.url(host) + "robots.txt")


def two_at_once(served: Served, first: str, second: str) -> None:
    """The second request while the first is being answered."""
    with Connection(served, first) as slow:
        slow.send(first)
        slow.head()
        get(served, second)
        time.sleep(0.05)


def asks_a_host_twice_at_once(served: Served) -> None:
    robots(served, 1)
    two_at_once(served, page(served, 1, PageKind.SLOW), served.url(1))


def asks_an_address_twice_at_once(served: Served) -> None:
    robots(served, 1)
    robots(served, 2)
    two_at_once(served, page(served, 1, PageKind.SLOW), served.url(2))


def asks_a_host_again_at_once(served: Served) -> None:
    robots(served, 1)
    get(served, served.url(1))


def asks_an_address_again_at_once(served: Served) -> None:
    robots(served, 1)
    robots(served, 2)


def ignores_a_crawl_delay(served: Served) -> None:
    served.switch(served.world.hosts.numbered(1).name, crawl_delay=50.0)
    robots(served, 1)
    get(served, served.url(1))


def asks_a_host_that_asks_for_too_much_delay(served: Served) -> None:
    served.switch(served.world.hosts.numbered(1).name, crawl_delay=61.0)
    robots(served, 1)
    get(served, served.url(1))


def ignores_retry_after(served: Served) -> None:
    robots(served, 1)
    served.switch(served.world.hosts.numbered(1).name, overloaded=100.0)
    assert get(served, served.url(1)).headers["retry-after"] == "100"
    get(served, served.url(1, 1))


def asks_for_a_closed_path(served: Served) -> None:
    robots(served, 1)
    get(served, page(served, 1, PageKind.OPENED))
    get(served, page(served, 1, PageKind.CLOSED))


def asks_a_host_whose_robots_txt_failed(served: Served) -> None:
    served.switch(served.world.hosts.numbered(1).name, robots="failing")
    robots(served, 1)
    get(served, served.url(1))


def asks_before_robots_txt(served: Served) -> None:
    get(served, served.url(1))
    robots(served, 1)
    get(served, served.url(1, 1))


def stops_on_the_way_to_robots_txt(served: Served) -> None:
    served.switch(served.world.hosts.numbered(1).name, robots="away")
    robots(served, 1)
    get(served, served.url(1))


def uses_an_old_robots_txt(served: Served) -> None:
    robots(served, 1)
    time.sleep(0.4)
    get(served, served.url(1))


def asks_twice_for_a_page(served: Served) -> None:
    robots(served, 1)
    get(served, served.url(1))
    get(served, served.url(1))


def sends_cookies(served: Served) -> None:
    get(served, served.url(1) + "robots.txt", Cookie="a=b")


def says_nothing_of_itself(served: Served) -> None:
    get(served, served.url(1) + "robots.txt", agent="")


def says_it_is_another(served: Served) -> None:
    get(served, served.url(1) + "robots.txt", agent="Mozilla/5.0")


def leaves_the_scope(served: Served) -> None:
    for host in (1, 2):
        robots(served, host)
        get(served, served.url(host))


def asks_at_a_wrong_address(served: Served) -> None:
    url = served.url(1) + "robots.txt"
    with Connection(served, f"http://127.0.0.1:{served.plan.port}/") as connection:
        connection.send(url)
        connection.receive()


def asks_for_a_host_that_is_not_there(served: Served) -> None:
    get(served, f"http://nobody.test:{served.plan.port}/robots.txt")


RUDE: list[tuple[Callable[[Served], None], str, Limits]] = [
    (asks_a_host_twice_at_once, "host_concurrency", EASY),
    (asks_an_address_twice_at_once, "ip_concurrency", replace(EASY, ip_concurrent=1)),
    (asks_a_host_again_at_once, "host_gap", replace(EASY, host_per_sec=0.01)),
    (asks_an_address_again_at_once, "ip_rate", replace(EASY, ip_per_sec=0.01)),
    (ignores_a_crawl_delay, "crawl_delay", EASY),
    (asks_a_host_that_asks_for_too_much_delay, "crawl_delay", EASY),
    (ignores_retry_after, "retry_after", EASY),
    (asks_for_a_closed_path, "disallowed", EASY),
    (asks_a_host_whose_robots_txt_failed, "disallowed", EASY),
    (asks_before_robots_txt, "robots_first", EASY),
    (stops_on_the_way_to_robots_txt, "robots_first", EASY),
    (uses_an_old_robots_txt, "robots_expired", replace(EASY, robots_age=0.2)),
    (asks_twice_for_a_page, "refetch", EASY),
    (sends_cookies, "cookie", EASY),
    (says_nothing_of_itself, "user_agent", replace(EASY, user_agent=None)),
    (says_it_is_another, "user_agent", EASY),
    (leaves_the_scope, "scope", replace(EASY, scope=frozenset({"site00001.demo00000.test"}))),
    (asks_at_a_wrong_address, "address", EASY),
    (asks_for_a_host_that_is_not_there, "address", EASY),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(PLAN, tmp_path_factory.mktemp("judged") / "web.log") as running:
        yield running


def lines_of(served: Served, client: Callable[[Served], None]) -> list[Line]:
    """What a client leaves in the log."""
    assert served.log
    served.flush()
    before = len(list(read_log(served.log)))
    client(served)
    for host in served.world.all_hosts():
        served.switch(host.name, robots="plain", crawl_delay=0.0, overloaded=0.0)
    served.flush()
    return list(read_log(served.log))[before:]


@pytest.mark.parametrize(("client", "rule", "limits"), RUDE, ids=[client.__name__ for client, _, _ in RUDE])
def test_a_rude_client_breaks_its_rule_and_no_other(
    served: Served, client: Callable[[Served], None], rule: str, limits: Limits
) -> None:
    report = judge_lines(served.plan, lines_of(served, client), limits)
    assert broken(report) == {rule: 1}
    assert report.violations == 1
    found = next(found for found in report.rules if found.rule == rule)
    assert "GET " in found.examples[0]


def test_the_rules_that_clients_break_are_all_there_are(served: Served) -> None:
    report = judge_lines(served.plan, lines_of(served, lambda web: robots(web, 0)), EASY)
    assert {rule.rule for rule in report.rules} == {rule for _, rule, _ in RUDE}
    assert (report.requests, report.violations) == (1, 0)


@dataclass
class PoliteCrawler:
    """Asks one request at a time, robots.txt first, and waits as long as each host wants."""

    served: Served
    gap: float
    free_at: dict[str, float] = field(default_factory=dict)
    delays: dict[str, float] = field(default_factory=dict)

    def fetch(self, url: str) -> Answer | None:
        place = urlsplit(url).netloc
        time.sleep(max(0.0, self.free_at.get(place, 0.0) - time.monotonic()))
        try:
            answer = get(self.served, url, Accept_Encoding="gzip")
        except OSError:
            answer = None
        wait = max(self.gap, self.delays.get(place, 0.0))
        if answer and answer.headers.get("retry-after", "").isdecimal():
            wait = max(wait, float(answer.headers["retry-after"]))
        self.free_at[place] = time.monotonic() + wait
        return answer

    def learn_rules(self, url: str) -> None:
        """Fetch robots.txt of the URL's origin, once."""
        parts = urlsplit(url)
        if parts.netloc in self.delays:
            return
        robots, host = (
            f"{parts.scheme}://{parts.netloc}/robots.txt",
            self.served.world.hosts.named(parts.hostname or ""),
        )
        assert host
        for _ in range(6):
            answer = self.fetch(robots)
            if answer is None or answer.status not in (301, 302):
                break
            robots = urljoin(robots, answer.headers["location"])
        delay = rules_of(host, host.traits, self.served.world.linker).crawl_delay
        self.delays[parts.netloc] = delay
        self.free_at[parts.netloc] = max(self.free_at[parts.netloc], time.monotonic() + delay)


def test_a_polite_crawl_of_an_odd_web_breaks_nothing(tmp_path: Path) -> None:
    profile = replace(
        PROFILES["finite"], slow_seconds=0.02, crawl_delay_seconds=0.05, limited=0.05, retry_after_seconds=0.2
    )
    plan = WebPlan(seed=4, hosts=10, pages=4, tls=True, page_bytes=(300, 900), links=(2, 6), profile=profile)
    with serving(plan, tmp_path / "web.log") as served:
        crawler = PoliteCrawler(served, gap=0.01)
        truth = Truth(served.world, UrlRules(UrlSettings().strip), sitemaps=True)
        for page in truth.walk([served.url(host) for host in range(plan.hosts)]):
            crawler.learn_rules(page.url)
            if page.fate is not Fate.CLOSED:
                crawler.fetch(page.url)
    limits = Limits(host_per_sec=100, ip_per_sec=1000, ip_concurrent=1, tolerance=0, user_agent=AGENT)
    report = judge(tmp_path / "web.log", limits)
    assert broken(report) == {}
    assert report.requests > 80
    assert {200, 301, 404, 429} <= set(report.statuses)
    assert any(crawler.delays.values())

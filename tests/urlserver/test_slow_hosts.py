"""Slow hosts cost the others nothing: neither queues nor room with the spiders, whatever their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.frontier_driving import Driven
from support.simulated_web import Behaviour, SimulatedHost, SimulatedWeb
from support.simulation import Simulation
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import DocId, NewLink, Result, WarcPosition
from weft.wire import split_trans_id

BEGIN = 1_000_000_000_000
GOOD, PAGES = 20, 150
SPAN = 120_000
QUICK, SLOW = 200, 58_000
"""Milliseconds that an answer takes."""


@dataclass
class SlowWeb(SimulatedWeb):
    """Good hosts that answer quickly, and slow ones: of one domain each, or all of one."""

    slow: int = 0
    is_one_domain: bool = False
    is_one_address: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.by_name = {name: self._made(name) for name in [*self._good_names(), *self._slow_names()]}

    def _good_names(self) -> list[str]:
        return [f"good{number}.example" for number in range(GOOD)]

    def _slow_names(self) -> list[str]:
        domain = ".wild.example" if self.is_one_domain else ".example"
        return [f"slow{number}{domain}" for number in range(self.slow)]

    def _made(self, name: str) -> SimulatedHost:
        number = len(name) if self.is_one_address and name.startswith("slow") else hash_of(name)
        return SimulatedHost(name, f"198.{number >> 16}.{number >> 8 & 255}.{number & 255}", "none", ttl=10**9)

    def links(self) -> list[NewLink]:
        counts = dict.fromkeys(self._good_names(), PAGES) | dict.fromkeys(self._slow_names(), 10)
        made = [f"{name}/{page}" for page in range(PAGES) for name, count in counts.items() if page < count]
        return [NewLink(uri, f"https://{uri}", uri.split("/")[0]) for uri in made]

    def fetch(self, doc_id: DocId, claim: int, url: str) -> Behaviour:
        parts = urlsplit(url)
        status = 404 if parts.path == "/robots.txt" else 200
        result = Result(doc_id=doc_id, claim=claim, status=status, position=WarcPosition("s", "0.warc.gz", 0, 1))
        return Behaviour(SLOW if parts.netloc.startswith("slow") else QUICK, result)


def hash_of(name: str) -> int:
    return sum(ord(letter) * 31**place for place, letter in enumerate(name)) % (1 << 24)


def good_pages(settings: UrlserverSettings, **web: Any) -> int:
    """How many pages the good hosts give in two minutes."""
    clock = ManualClock(BEGIN)
    mgmt = MemoryMgmt(clock)
    slow_web = SlowWeb(1, 1, 1, 0, **web)
    mgmt.add(slow_web.links())
    simulation = Simulation(slow_web, mgmt, clock, settings, spiders=1)
    simulation.run_for(SPAN)
    assert simulation.checker.violations == []
    return sum(count for host, count in simulation.fetched_from().items() if host.startswith("good"))


def settings(spider_urls: int = 2000) -> UrlserverSettings:
    return UrlserverSettings(queue_count=20, spider_urls=spider_urls)


def test_forty_slow_hosts_cost_twenty_good_ones_nothing():
    alone = good_pages(settings())
    assert alone > GOOD * SPAN / 1000 / 1.5
    assert good_pages(settings(), slow=40) >= 0.9 * alone


@pytest.mark.parametrize("is_one_address", [False, True])
def test_100_slow_hosts_of_one_domain_cost_the_others_nothing(is_one_address):
    alone = good_pages(settings())
    assert good_pages(settings(), slow=100, is_one_domain=True, is_one_address=is_one_address) >= 0.9 * alone


@pytest.mark.long
@pytest.mark.parametrize("is_one_address", [False, True])
def test_2000_slow_hosts_of_one_domain_cost_the_others_nothing(is_one_address):
    alone = good_pages(settings())
    assert good_pages(settings(), slow=2000, is_one_domain=True, is_one_address=is_one_address) >= 0.9 * alone


def test_a_domain_of_slow_hosts_does_not_fill_the_spiders():
    alone = good_pages(settings(spider_urls=40))
    assert good_pages(settings(spider_urls=40), slow=100, is_one_domain=True) >= 0.9 * alone


def test_a_host_without_a_queue_is_not_confused_by_a_late_done():
    web = Driven(queue_count=1)
    web.host("slow.com", pages=2)
    web.host("other.com", pages=2, ip="192.0.2.2")
    first, second = web.after(1)
    assert [first.url, second.url] == ["https://slow.com/0", "https://other.com/0"], "the queue changed hands"
    assert split_trans_id(first.trans_id).host == split_trans_id(second.trans_id).host
    web.done(second)
    assert [fetch.url for fetch in web.after(1)] == ["https://other.com/1"]
    web.done(first)
    web.done(first)
    assert web.after(0.999) == [], "its gap begins when its own answer ends"
    assert [fetch.url for fetch in web.after(0.001)] == ["https://slow.com/1"]


def test_links_of_others_are_claimed_while_all_queues_wait_for_slow_answers():
    web = Driven(queue_count=2)
    web.host("a.com")
    web.host("b.com", ip="192.0.2.2")
    assert len(web.after(1)) == 2
    assert not web.frontier.wants_links(web.now), "an answer may come soon"
    web.now += 2000
    assert web.frontier.wants_links(web.now)
    web.host("c.com", ip="192.0.2.3")
    assert [fetch.url for fetch in web.due()] == ["https://c.com/0"]
    assert web.frontier.reject_list() == {"a.com"}, "it waits without a queue"


def test_a_domain_beyond_its_share_gives_a_queue_to_a_host_of_another():
    web = Driven(queue_count=4, req_ip_per_sec=0.001)
    web.after(1)
    for number in range(6):
        web.host(f"h{number}.wild.com", pages=1)
    assert web.frontier.registry.queues.taken == 4, "nobody else waits"
    web.host("other.com", pages=1, ip="192.0.2.2")
    assert web.frontier.registry.hosts["other.com"].slot >= 0
    assert len(web.frontier.registry.queues.line) == 3


def test_links_of_hosts_without_a_queue_are_bounded():
    web = Driven(queue_count=1, queue_len=10, leftover_len=5)
    web.host("slow.com", pages=10)
    web.after(1)
    web.host("other.com", pages=3, ip="192.0.2.2")
    assert web.requests.release == [7, 8, 9, 10], "nine links are left without a queue, five fit"


def test_entries_of_hosts_that_lost_their_queue_do_not_pile_up_at_their_address():
    web = Driven(queue_count=4, req_ip_per_sec=0.001, req_host_per_sec=100)
    for number in range(4):
        web.host(f"h{number}.wild.com", pages=1)
    (ip,) = {host.ip for host in web.frontier.registry.hosts.values() if host.domain == "wild.com"}
    assert ip is not None
    for turn in range(300):
        for name in list(web.frontier.registry.hosts):
            web.set_for(name, delay=1 + turn % 2)
    assert len(ip.waiting) < 100

"""What a URL server tells of itself in numbers: what hosts wait for, what was sent, and what came of it."""

from __future__ import annotations

from typing import Any

from support.frontier_driving import Driven, known
from weft.urlserver.returns import ReturnReason
from weft.urlserver.view.server_figures import waiting_hosts

OUTCOMES: list[dict[str, Any]] = [{"error": "network"}, {"status": 503, "retry_after": 5000}, {"status": 429}]


def waiting(driven: Driven, most: int = 2000) -> dict[str, int]:
    return waiting_hosts(driven.frontier, driven.now, most)


def counted(driven: Driven) -> dict:
    return driven.frontier.registry.tally.facts()


def test_hosts_are_counted_by_what_they_wait_for() -> None:
    driven = Driven(req_host_per_sec=1.0)
    driven.host("fast.test", ip="192.0.2.1")
    driven.host("slow.test", ip="192.0.2.2", robots=known("User-agent: *\nCrawl-delay: 30"))
    for fetch in driven.after(31):
        driven.done(fetch)
    assert len(driven.sent) == 2
    assert waiting(driven) == {"rate": 1, "Crawl-delay": 1}


def test_of_many_queues_an_even_part_is_looked_at() -> None:
    driven = Driven()
    for number in range(40):
        driven.host(f"host{number}.test", ip=f"192.0.2.{number}")
    assert waiting(driven, most=10) == {"rate": 40}
    assert waiting(driven, most=40) == {"rate": 40}
    assert waiting(Driven()) == {}


def test_what_is_sent_and_what_comes_back_is_counted() -> None:
    driven = Driven(req_host_per_sec=1.0)
    driven.host("a.test", ip="192.0.2.1")
    driven.host("b.test", ip="192.0.2.2")
    first, second = driven.after(2)
    driven.done(first)
    driven.come_back(second, ReturnReason.SILENT, is_stored=False)
    assert (counted(driven)["sent"], counted(driven)["returned"]) == (2, {"done": 1, "silent": 1})


def test_waits_of_hosts_are_counted_by_what_decided() -> None:
    driven = Driven(req_host_per_sec=1.0)
    outcomes: list[dict[str, Any]] = [{"error": "network"}, {"status": 503, "retry_after": 5000}, {"status": 429}]
    for number, outcome in enumerate(outcomes):
        driven.host(f"host{number}.test", pages=1, ip=f"192.0.2.{number}")
        (fetch,) = driven.after(2)
        driven.done(fetch, **outcome)
    assert counted(driven)["waits"] == {"Retry-After": 1, "back-off": 2, "learned rate": 2}


def test_links_that_are_never_sent_are_counted_by_class() -> None:
    driven = Driven()
    driven.host("closed.test", pages=3, robots=known("User-agent: *\nDisallow: /"))
    assert driven.after(2) == []
    assert counted(driven)["refused"] == {"robots": 3}

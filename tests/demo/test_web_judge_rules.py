"""Every rule at its edges, on lines made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import Profile
from weft.demo.web.definition.state import Change
from weft.demo.web.definition.world import make_world
from weft.demo.web.judge.judge import judge_lines
from weft.demo.web.judge.limits import Limits
from weft.demo.web.log import Line, RequestLine

PLAN = WebPlan(hosts=4, pages=10, addresses=1, port=8000, tls=True, tls_port=8443, profile=Profile(closed=1.0))
WORLD = make_world(PLAN)
NAMES = [host.name for host in WORLD.all_hosts()]
CLOSED = WORLD.url(1, next(n for n in range(99) if WORLD.hosts.numbered(1).layout.kind(n) == "closed"))
LOOSE = Limits(host_per_sec=1e5, ip_per_sec=1e5, ip_concurrent=1000, host_concurrent=1000)


def line(start: float, end: float | None = None, host: int = 1, target: str = "/", **more: Any) -> RequestLine:
    made: dict[str, Any] = {
        "connection": 1, "client": "127.0.0.1:1", "address": "127.0.0.1", "port": 8000, "host": NAMES[host],
        "method": "GET", "target": target, "status": 200, "sent": 1000, "at": 1.8e9 + start, "agent": "weft/test",
        "start": start, "end": start + 0.01 if end is None else end,
        "kind": "robots" if target.startswith("/robots") else "page",
    }  # fmt: skip
    return RequestLine(**{**made, **more})


def robots(start: float, host: int = 1, **more: Any) -> RequestLine:
    return line(start, host=host, target="/robots.txt", **more)


def judged(limits: Limits, *lines: Line) -> dict[str, int]:
    report = judge_lines(PLAN, lines, limits)
    return {rule.rule: rule.count for rule in report.rules if rule.count}


def pages(*times: tuple[float, float], host: int = 1) -> list[RequestLine]:
    """robots.txt long before, then different pages at these times."""
    return [robots(1.0, host), *(line(*time, host, f"/p{number}") for number, time in enumerate(times))]


@pytest.mark.parametrize(
    ("times", "count"),
    [
        ([(100.0, 101.0), (102.0, 102.1)], 0),  # exactly a second after the end
        ([(100.0, 101.0), (101.996, 102.1)], 0),  # within the tolerance
        ([(100.0, 101.0), (101.994, 102.1)], 1),
        ([(100.0, 101.0), (101.0, 102.1)], 1),
        ([(100.0, 101.0), (101.5, 101.6), (102.0, 102.1)], 2),
        ([(100.0, 105.0), (101.5, 101.6)], 0),  # two at once: another rule's matter
    ],
)
def test_one_at_a_time_the_gap_is_from_the_last_end(times: list[tuple[float, float]], count: int) -> None:
    limits = replace(LOOSE, host_concurrent=1, host_per_sec=1.0)
    assert judged(limits, *pages(*times)).get("host_gap", 0) == count


@pytest.mark.parametrize(("second", "count"), [(101.0, 0), (100.996, 0), (100.99, 1), (100.5, 1), (100.0, 1)])
def test_several_at_a_time_the_gap_is_between_starts(second: float, count: int) -> None:
    limits = replace(LOOSE, host_concurrent=2, host_per_sec=1.0)
    assert judged(limits, *pages((100.0, 130.0), (second, 140.0))).get("host_gap", 0) == count


@pytest.mark.parametrize(
    ("limit", "times", "count"),
    [
        (1, [(10.0, 11.0), (11.0, 12.0)], 0),
        (1, [(10.0, 11.0), (10.996, 12.0)], 0),  # the first ended within the tolerance
        (1, [(10.0, 11.0), (10.99, 12.0)], 1),
        (2, [(10.0, 20.0), (11.0, 20.0)], 0),
        (2, [(10.0, 20.0), (11.0, 20.0), (12.0, 20.0)], 1),
        (2, [(10.0, 20.0), (11.0, 12.0), (13.0, 20.0)], 0),
    ],
)
def test_concurrency_counts_those_that_run(limit: int, times: list[tuple[float, float]], count: int) -> None:
    assert judged(replace(LOOSE, host_concurrent=limit), *pages(*times)).get("host_concurrency", 0) == count
    shared = [robots(float(host), host) for host in (1, 2, 3)]
    shared += [line(*time, host, f"/p{host}") for host, time in enumerate(times, 1)]
    assert judged(replace(LOOSE, ip_concurrent=limit), *shared).get("ip_concurrency", 0) == count
    assert "host_concurrency" not in judged(replace(LOOSE, host_concurrent=1), *shared)


def test_a_name_on_two_ports_is_two_hosts() -> None:
    lines = [robots(1.0), robots(1.0, port=8443), line(10.0, 20.0), line(11.0, 20.0, port=8443)]
    assert judged(replace(LOOSE, host_concurrent=1, host_per_sec=1), *lines) == {}


@pytest.mark.parametrize(
    ("rate", "starts", "count"),
    [
        (8.0, [number / 8 for number in range(30)], 0),
        (8.0, [0.0] * 8 + [1.0], 0),
        (8.0, [0.0] * 9, 1),
        (8.0, [0.0] * 8 + [0.9], 1),
        (0.5, [0.0, 2.0, 4.0], 0),
        (0.5, [0.0, 1.9, 4.0], 1),
    ],
)
def test_an_address_is_asked_so_often_in_any_span(rate: float, starts: list[float], count: int) -> None:
    lines = [robots(1.0 + 10 * host, host) for host in range(3)]
    lines += [line(100 + at, host=number % 3, target=f"/p{number}") for number, at in enumerate(starts)]
    assert judged(replace(LOOSE, ip_per_sec=rate), *lines).get("ip_rate", 0) == count


def test_retry_after_counts_from_the_end_of_the_answer() -> None:
    limits = replace(LOOSE, host_concurrent=1)

    def count(start: float, **more: Any) -> int:
        busy = line(10.0, 11.0, target="/busy", status=429, retry_after=5.0, **more)
        return judged(limits, robots(1.0), busy, line(start, target="/next")).get("retry_after", 0)

    assert [count(start) for start in (11.1, 15.99, 15.996, 16.0)] == [1, 1, 0, 0]
    assert count(11.1, is_complete=False) == 0, "a client that was cut off cannot know"
    elsewhere = [robots(1.0, 2), line(12.0, host=2)]
    assert judged(limits, robots(1.0), line(10.0, 11.0, status=503, retry_after=5.0), *elsewhere) == {}


def test_those_who_ask_several_times_at_once_may_react_a_little_later() -> None:
    lines = [robots(1.0), line(10.0, 11.0, target="/busy", status=503, retry_after=5.0)]
    limits = replace(LOOSE, host_concurrent=2)
    assert judged(limits, *lines, line(11.9, target="/a")) == {}
    assert judged(limits, *lines, line(12.1, target="/a")) == {"retry_after": 1}


def after_robots(*fetches: RequestLine, target: str = "/any") -> dict[str, int]:
    return judged(LOOSE, *fetches, line(50.0, target=target))


@pytest.mark.parametrize(
    ("status", "rule"),
    [(200, None), (404, None), (403, None), (500, "disallowed"), (503, "disallowed"), (429, "disallowed")],
)
def test_the_status_of_robots_txt_decides(status: int, rule: str | None) -> None:
    assert after_robots(robots(10.0, status=status)) == ({rule: 1} if rule else {})
    path = CLOSED.partition(":8000")[2]
    assert after_robots(robots(10.0, status=status), target=path) == ({} if status in (404, 403) else {"disallowed": 1})


def test_a_robots_txt_that_broke_off_closes_the_host_unless_enough_of_it_came() -> None:
    assert after_robots(robots(10.0, is_complete=False)) == {"disallowed": 1}
    assert after_robots(robots(10.0, is_complete=False, sent=600 << 10)) == {}
    assert after_robots(robots(10.0, is_complete=False), robots(20.0)) == {}
    assert after_robots(robots(10.0), robots(20.0, status=500)) == {"disallowed": 1}


def test_robots_txt_must_have_ended_before_the_page_starts() -> None:
    assert after_robots(robots(10.0, end=49.9)) == {}
    assert after_robots(robots(10.0, end=50.004)) == {}
    assert after_robots(robots(10.0, end=50.1)) == {"robots_first": 1}
    assert after_robots(robots(10.0), robots(40.0, end=60.0, status=500)) == {}, "the older one holds meanwhile"


def switched(kind: str, at: float = 2.0, **more: Any) -> Change:
    return Change(do="switch", host=1, traits={"robots": kind, **more}, start=at)


def test_a_chain_must_be_followed_to_its_end() -> None:
    hops = [robots(10.0, status=301), *(line(10.0 + hop, target=f"/robots/{hop}", status=301) for hop in (1, 2, 3))]
    chain = switched("chain")
    assert judged(LOOSE, chain, *hops, line(50.0)) == {"robots_first": 1}
    assert judged(LOOSE, chain, *hops, line(20.0, target="/robots/4"), line(50.0)) == {}
    closed = line(50.0, target=CLOSED.partition(":8000")[2])
    assert judged(LOOSE, chain, *hops, line(20.0, target="/robots/4"), closed) == {"disallowed": 1}


def test_more_than_five_redirects_open_the_host() -> None:
    hops = [robots(10.0, status=301), *(line(10.0 + hop, target=f"/robots/{hop}", status=301) for hop in range(1, 6))]
    assert judged(LOOSE, switched("long_chain"), *hops, line(50.0)) == {}
    assert judged(LOOSE, switched("long_chain"), *hops[:-1], line(50.0)) == {"robots_first": 1}


def test_rules_that_changed_hold_from_the_next_fetch_on() -> None:
    change = switched("plain", 20.0, closed_paths=["/shut"])
    shut = line(30.0, target="/shut/page")
    assert judged(LOOSE, robots(10.0), change, shut) == {}
    assert judged(LOOSE, robots(10.0), change, robots(25.0), shut) == {"disallowed": 1}


def test_a_crawl_delay_allows_one_request_at_a_time_and_robots_txt_counts() -> None:
    delay = Change(do="switch", host=1, traits={"crawl_delay": 5.0}, start=2.0)

    def count(*times: tuple[float, float], limits: Limits = LOOSE) -> int:
        lines = [line(*time, target=f"/p{number}") for number, time in enumerate(times)]
        return judged(limits, delay, robots(10.0, end=11.0), *lines).get("crawl_delay", 0)

    assert count((16.0, 16.1), (21.1, 21.2)) == 0
    assert count((15.9, 16.1)) == 1, "robots.txt is a request too"
    assert count((16.0, 30.0), (25.0, 25.1)) == 1, "two at once"
    assert count((16.0, 16.1), limits=replace(LOOSE, crawl_delay_max=4.0)) == 1


def test_a_robots_txt_holds_so_long() -> None:
    limits = replace(LOOSE, robots_age=30.0)
    assert judged(limits, robots(10.0), line(40.0)) == {}
    assert judged(limits, robots(10.0), line(40.1)) == {"robots_expired": 1}
    assert judged(limits, robots(10.0), robots(39.0), line(40.1)) == {}
    moved: list[Line] = [
        switched("moved"),
        robots(10.0, status=301),
        line(11.0, target="/robots/1"),
        robots(39.0, status=301),
    ]
    assert judged(limits, *moved, line(40.9)) == {}
    assert judged(limits, *moved, line(41.1)) == {"robots_expired": 1}, "every step of the way counts"
    renewed = [*moved[:-1], line(39.0, target="/robots/1")]
    assert judged(limits, *renewed, line(40.1)) == {"robots_expired": 1}, "the first step too"


@pytest.mark.parametrize(
    ("first", "count"),
    [
        ({}, 1),
        ({"status": 404}, 1),
        ({"status": 304}, 1),
        ({"status": 429}, 0),
        ({"status": 500}, 0),
        ({"status": 0}, 0),
        ({"is_complete": False}, 0),
        ({"target": "/other"}, 0),
        ({"port": 8443}, 0),
    ],
)
def test_only_what_was_answered_is_fetched_twice(first: dict[str, Any], count: int) -> None:
    lines = [robots(1.0), robots(1.0, port=8443), line(10.0, **first), line(20.0)]
    assert judged(LOOSE, *lines).get("refetch", 0) == count


def test_some_refetches_can_be_allowed_and_old_pages_are_crawled_anew() -> None:
    lines = [robots(1.0), line(10.0), line(20.0), line(30.0)]
    report = judge_lines(PLAN, lines, replace(LOOSE, allowed_refetches=2))
    assert (report.count("refetch"), report.violations) == (2, 0)
    assert judge_lines(PLAN, lines, replace(LOOSE, allowed_refetches=1)).violations == 2
    assert judged(replace(LOOSE, refetch_after=9.98), *lines) == {}


@pytest.mark.parametrize(
    ("scope", "is_inside"),
    [
        ([], True),
        ([NAMES[1]], True),
        ([NAMES[2]], False),
        ([".demo00000.test"], True),
        ([".demo00001.test"], False),
        (["." + NAMES[1]], True),
    ],
)
def test_scope_is_hosts_or_domains(scope: list[str], is_inside: bool) -> None:
    found = judged(replace(LOOSE, scope=frozenset(scope)), robots(1.0), line(10.0))
    assert found == ({} if is_inside else {"scope": 1})


LINES = [robots(1.0), *(line(at, at + 0.7, 1 + int(at) % 2, f"/p{int(at) % 5}") for at in map(float, range(2, 20)))]


@given(st.permutations(LINES), st.integers(0, 3))
def test_the_order_of_lines_in_the_log_does_not_matter(lines: list[RequestLine], rate: int) -> None:
    limits = Limits(host_per_sec=1 + rate, ip_per_sec=2)
    assert judge_lines(PLAN, lines, limits) == judge_lines(PLAN, LINES, limits)
    assert judge_lines(PLAN, LINES, limits).violations


def test_a_report_counts_what_was_asked() -> None:
    report = judge_lines(PLAN, [robots(1.0), line(2.0, 5.5, connection=2), line(3.0, host=2, status=404)], LOOSE)
    assert (report.requests, report.hosts, report.connections, report.sent, report.seconds) == (3, 2, 2, 3000, 4.5)
    assert report.statuses == {200: 2, 404: 1}
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report


def test_only_the_first_examples_are_kept() -> None:
    report = judge_lines(PLAN, [line(float(number), target=f"/p{number}") for number in range(1, 50)], LOOSE)
    found = next(rule for rule in report.rules if rule.rule == "robots_first")
    assert (found.count, len(found.examples)) == (49, 3)
    assert found.examples[0].startswith("2027-01-15T08:00:01.000Z GET ")

"""Judging links never holds others up: a bounded number at a time, and an address is good for one request at least."""

from __future__ import annotations

import pytest

from support.frontier_driving import FOREVER, Driven, known, link
from weft.robots.rules import TOO_COSTLY, Decision, Rules
from weft.urlserver.frontier import JUDGING_REST, MOST_JUDGED, MOST_JUDGED_OF_HOST
from weft.urlserver.origin_robots import MOST_COSTLY, OriginRules
from weft.urlserver.packed_link import pack
from weft.wire import Fetch

CLOSED = "User-agent: *\nDisallow: /"


class CountingRules(Rules):
    """Refuse everything but /public, and count."""

    def __init__(self) -> None:
        super().__init__()
        self.decided = 0

    def decide(self, target: str) -> Decision:
        self.decided += 1
        return Decision(target.startswith("/public"))


def closed_host(web: Driven, name: str, pages: int, ip: str, *, last: str = "") -> CountingRules:
    rules = CountingRules()
    web.offer(*(f"https://{name}/{page}" for page in range(pages)), *([f"https://{name}{last}"] if last else []))
    web.place(name, ip)
    host = web.frontier.registry.hosts[name]
    host.https = OriginRules(rules, FOREVER, 60_000)
    web.frontier.registry.reschedule(host, web.now)
    return rules


def after_the_first_gap(web: Driven) -> None:
    """New addresses begin quietly."""
    web.now += 1000


def test_no_call_judges_more_than_a_few_links_of_a_host():
    web = Driven()
    rules = closed_host(web, "closed.com", 1000, "192.0.2.1")
    after_the_first_gap(web)
    calls = 0
    while web.frontier.registry.hosts["closed.com"].links:
        before = rules.decided
        web.due()
        assert 0 < rules.decided - before <= MOST_JUDGED_OF_HOST
        moment = web.frontier.next_moment(may_send=True)
        assert moment is not None
        assert moment <= web.now + JUDGING_REST, "it comes again soon"
        web.now = max(web.now, moment)
        calls += 1
    assert calls == pytest.approx(1000 / MOST_JUDGED_OF_HOST, abs=1)
    assert rules.decided == 1000, "each link is judged once"
    assert set(web.refused().values()) == {"robots"}
    assert len(web.refused()) == 1000


def test_no_call_judges_more_than_a_bounded_number_of_links_of_all_hosts():
    web = Driven()
    all_rules = [closed_host(web, f"closed{number}.com", 100, f"192.0.2.{number}") for number in range(100)]
    after_the_first_gap(web)
    done = 0
    while done < 100 * 100:
        web.due()
        judged = sum(rules.decided for rules in all_rules) - done
        assert 0 < judged < MOST_JUDGED + MOST_JUDGED_OF_HOST
        done += judged
        moment = web.frontier.next_moment(may_send=True)
        if moment is not None:
            web.now = max(web.now, moment)
    assert len(web.refused()) == 100 * 100


def test_other_hosts_are_served_before_a_closed_one_comes_again():
    web = Driven()
    closed_host(web, "closed.com", 1000, "192.0.2.1")
    for number in range(20):
        web.host(f"open{number}.com", pages=1, ip=f"192.0.3.{number}")
    assert len(web.after(1)) == 20
    assert len(web.refused()) == MOST_JUDGED_OF_HOST


def test_a_host_whose_rest_is_refused_later_sends_its_public_page_at_the_same_rate():
    web = Driven()
    rules = closed_host(web, "closed.com", 3 * MOST_JUDGED_OF_HOST, "192.0.2.1", last="/public")
    sent: list[Fetch] = []
    while not sent:
        sent = web.after(0.001)
    assert [fetch.url for fetch in sent] == ["https://closed.com/public"]
    assert rules.decided == 3 * MOST_JUDGED_OF_HOST + 1


def test_an_address_that_expires_at_once_is_good_for_the_request_it_was_looked_up_for():
    web = Driven()
    web.offer("https://a.com/1", "https://a.com/2")
    web.place("a.com", expires=web.now)
    web.frontier.registry.hosts["a.com"].https = known("")
    assert web.requests.take().resolve == ["a.com"]
    (first,) = web.after(1)
    web.done(first)
    assert web.after(1) == [], "the second request needs a look-up of its own"
    assert web.requests.take().resolve == ["a.com"]
    web.place("a.com", expires=web.now)
    assert [fetch.url for fetch in web.after(0.1)] == ["https://a.com/2"]
    assert web.requests.take().resolve == []


def test_reading_a_known_robots_txt_needs_no_second_look_up():
    web = Driven()
    web.offer("https://a.com/1")
    web.place("a.com", expires=web.now)
    web.requests.take()
    web.after(1)
    assert web.requests.take().read_robots == ["https://a.com"]
    web.learn(robots_known={"https://a.com": known("")})
    assert len(web.due()) == 1
    assert not web.requests.resolve


def test_a_look_up_that_was_long_ago_is_repeated():
    web = Driven()
    web.offer("https://a.com/1")
    web.place("a.com", expires=web.now)
    web.frontier.registry.hosts["a.com"].https = known("")
    web.requests.take()
    assert web.after(600) == []
    assert web.requests.resolve == ["a.com"]
    for _ in range(100):
        web.due()
    assert web.requests.resolve == ["a.com"]


def test_the_rules_of_a_closed_host_still_refuse_all():
    web = Driven()
    web.offer("https://a.com/1", "https://a.com/2")
    web.place("a.com")
    web.frontier.registry.hosts["a.com"].https = known(CLOSED)
    assert web.after(1) == []
    assert web.refused() == {1: "robots", 2: "robots"}


class CostlyRules(CountingRules):
    def decide(self, target: str) -> Decision:
        super().decide(target)
        return TOO_COSTLY


def test_a_robots_txt_that_is_too_costly_again_and_again_is_not_asked_any_more(caplog):
    costly = CostlyRules()
    known_rules = OriginRules(costly, FOREVER, 60_000)
    packed = [pack(link(number, f"https://a.com/{number}")) for number in range(100)]
    assert not any(known_rules.allows(each, "a.com") for each in packed)
    assert costly.decided == MOST_COSTLY
    assert known_rules.rules is not None
    assert known_rules.rules.decide("/x").line_text == TOO_COSTLY.line_text
    assert len(caplog.records) == 1

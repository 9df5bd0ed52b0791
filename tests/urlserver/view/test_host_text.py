"""What people are told about a host's clock."""

from __future__ import annotations

import pytest

from support.frontier_driving import Driven, known
from weft.urlserver.view.host_text import host_text, seconds_text
from weft.urlserver.view.snapshot import host_view

NOON = 1_700_049_600_000
"""2023-11-15 12:00:00 UTC"""


def words(web: Driven, name: str = "a.com", url: str = "") -> list[str]:
    return host_text(host_view(web.frontier, name, url, web.now), NOON)


def test_a_host_that_nobody_waits_for():
    assert words(Driven()) == ["no link of it is queued, and nothing of it is under way"]


def test_a_host_under_its_rate_and_where_the_url_stands():
    web = Driven()
    web.host("a.com", pages=3)
    web.done(web.after(1)[0])
    web.now += 200
    assert words(web, url="https://a.com/2") == [
        "may be asked again in 0.8 s: 1 s between requests; 2 links wait, 0 in spiders' hands at 192.0.2.1",
        "this URL waits in its queue behind 1 other",
    ]


def test_a_host_with_a_crawl_delay():
    web = Driven()
    web.host("a.com", pages=2, robots=known("User-agent: *\nCrawl-delay: 2"))
    web.done(web.after(2)[0])
    web.now += 1200
    assert words(web)[0].startswith("may be asked again in 0.8 s: Crawl-delay 2 s; 1 link waits")


def test_a_host_with_a_delay_that_is_set_for_its_site():
    web = Driven()
    web.host("a.com", pages=2, robots=known("User-agent: *\nCrawl-delay: 2"))
    web.set_for("a.com", delay=5)
    web.done(web.after(5)[0])
    web.now += 1200
    assert words(web)[0].startswith("may be asked again in 3.8 s: its site's delay 5 s; 1 link waits")
    web.set_for("a.com", delay=2)
    assert words(web)[0].startswith("may be asked again in 0.8 s: Crawl-delay 2 s")
    web.set_for("a.com", delay=0.5)
    assert host_view(web.frontier, "a.com", "", web.now).site_delay == 0.5


def test_a_host_that_waits_for_its_address_its_robots_txt_or_an_answer():
    web = Driven()
    web.offer("https://a.com/1")
    assert words(web)[0].startswith("waits for its address (DNS); 1 link waits")
    web.place("a.com")
    web.after(1)
    assert words(web)[0].startswith("waits for robots.txt; 1 link waits")
    web.host("b.com", pages=1, ip="192.0.2.9")
    web.after(1)
    assert words(web, "b.com")[0].startswith("waits for an answer; 0 links wait, 1 in spiders' hands")


def test_a_failing_host_backs_off_until_a_time_of_day_also_when_nothing_waits():
    web = Driven(backoff_first=30, slot_patience=60)
    web.host("a.com", pages=2)
    web.done(web.after(1)[0], error="network")
    said = words(web)
    assert said[0].startswith("backs off until 12:00:30 UTC, after 1 failure in a row; 1 link waits")
    assert said[1:] == ["no more of it is claimed: it is failing"]
    web.frontier.registry.release_all(web.frontier.registry.hosts["a.com"])
    web.frontier.registry.proceed(web.frontier.registry.hosts["a.com"], web.now)
    assert words(web)[0].startswith("backs off until 12:00:30 UTC, after 1 failure in a row; 0 links wait")


def test_a_host_that_asked_for_a_day():
    web = Driven(slot_patience=100_000)
    web.host("a.com", pages=2)
    web.done(web.after(1)[0], status=200, retry_after=86_400_000)
    assert "until 2023-11-16 12:00:00 UTC" in words(web)[0]


def test_a_host_at_a_busy_address():
    web = Driven(req_ip_concurrent=1)
    web.host("a.com")
    web.host("b.com")
    web.after(1)
    waiting = "b.com" if web.sent[0][1].url.startswith("https://a.com") else "a.com"
    assert words(web, waiting)[0].startswith("waits for answers of other hosts at its address; 3 links wait")


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.8, "0.8 s"), (2.0, "2 s"), (119, "119 s"), (600, "10 min"), (86_400, "24 h")]
)
def test_spans_are_said_as_people_say_them(seconds, said):
    assert seconds_text(seconds) == said

"""Verdicts of a URL server hold as long as the settings that they depended on: then the host is asked again."""

from __future__ import annotations

from typing import Any

import pytest

from support.frontier_driving import Driven, known
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import Address, NodeType, Robots, Seed
from weft.model.fetch_error import FetchError
from weft.model.site import Site, SiteSettings
from weft.robots.rules import Rules
from weft.urlserver.address_policy import AddressPolicy
from weft.urlserver.mgmt_gateway import Clocks, MgmtGateway, RobotsPolicy
from weft.urlserver.mgmt_messages import MgmtReplies, MgmtRequests, RobotsAnswer
from weft.urlserver.origin_robots import OriginRules

WALL, HOUR = 1_700_000_000_000, 3_600_000
ORIGIN = "https://a.com:8443"


class Gateway:
    """A URL server's gateway with the settings of now."""

    def __init__(self, mgmt: MemoryMgmt | None = None, conditions: bytes = b"1", **settings: Any) -> None:
        self.clock = ManualClock(WALL)
        self.mgmt = mgmt or MemoryMgmt(self.clock)
        policy = RobotsPolicy("weft", 512_000, 60_000, fetch_conditions=conditions)
        clocks = Clocks(self.clock, ManualClock(5_000))
        self.gateway = MgmtGateway(self.mgmt, clocks, policy, AddressPolicy(UrlserverSettings(**settings)))
        self.lease = self.mgmt.register(NodeType.CRAWLER, "127.0.0.1:1")

    def run(self, **requests: Any) -> MgmtReplies:
        replies = MgmtReplies()
        self.gateway.run(self.lease, MgmtRequests(**requests), replies)
        return replies

    def is_known(self) -> bool:
        return ORIGIN in self.run(read_robots=[ORIGIN]).robots_known


@pytest.mark.parametrize(("status", "falls_with_addresses"), [(0, True), (503, True), (200, False), (404, False)])
def test_a_robots_txt_counts_no_more_under_other_settings(status: int, falls_with_addresses: bool) -> None:
    first = Gateway()
    first.mgmt.save_robots([Robots(origin=ORIGIN, status=status, body=b"")])
    first.run(settle_robots={ORIGIN: RobotsAnswer(status, 0, error="connect")})
    assert Gateway(first.mgmt).is_known()
    assert Gateway(first.mgmt, conditions=b"2").is_known() is not falls_with_addresses
    first.mgmt.set_sites([Site(name="a.com", settings=SiteSettings(auth="me:secret"))])
    assert not Gateway(first.mgmt).is_known()


def test_a_robots_txt_of_an_older_weft_counts() -> None:
    story = Gateway()
    story.mgmt.save_robots([Robots(origin=ORIGIN, status=404, fetched=WALL, expires=WALL + HOUR)])
    assert story.is_known()


@pytest.mark.parametrize(
    ("error", "refused_as"),
    [("tls_expired", "tls_expired"), ("connect", "connect"), ("bad_encoding", "robots"), ("", "robots")],
)
def test_a_page_is_refused_for_the_reason_that_its_robots_txt_cannot_be_fetched(error: str, refused_as: str) -> None:
    story = Gateway()
    replies = story.run(settle_robots={ORIGIN: RobotsAnswer(0, 0, error=error)})
    assert replies.robots_known[ORIGIN].refusal == refused_as
    assert story.mgmt.robots([ORIGIN])[ORIGIN].error == error


def test_a_link_gets_the_error_of_its_robots_txt() -> None:
    web = Driven()
    web.host("a.com", pages=1, robots=OriginRules(Rules.closed("not fetched"), 1 << 60, 60_000, "tls_name"))
    assert web.after(5) == []
    assert set(web.refused().values()) == {"tls_name"}


def test_a_port_is_allowed_where_a_seed_names_it_and_for_that_host_alone() -> None:
    story = Gateway()
    story.mgmt.set_sites([Site(name="a.com", scope="domains", seeds=["http://www.a.com:8010/"])])
    replies = story.run(resolve=["www.a.com:8010", "b.a.com:8010"])
    assert replies.unresolved == ["www.a.com:8010"]
    assert replies.addresses["b.a.com:8010"].reason == FetchError.PORT


def test_a_redirect_names_no_port_but_keeps_the_one_that_was_named() -> None:
    story = Gateway()
    led = [Site(name=name, led_from="http://a.com:8010/") for name in ("www.a.com:8010", "www.a.com:22")]
    story.mgmt.set_sites(led)
    replies = story.run(resolve=["www.a.com:8010", "www.a.com:22"])
    assert replies.unresolved == ["www.a.com:8010"]


def test_a_local_site_is_looked_up_as_such_and_keeps_its_address() -> None:
    story = Gateway()
    story.mgmt.set_sites([Site(name="in.example", settings=SiteSettings(local=True))])
    found = [Address(host, "10.0.0.7", "10.0.0.7", WALL + HOUR) for host in ("in.example", "out.example")]
    story.mgmt.save_addresses(found)
    replies = story.run(resolve=["in.example", "out.example", "new.example"])
    assert replies.addresses["in.example"].ip == "10.0.0.7"
    assert replies.unresolved == ["out.example", "new.example"]
    assert replies.local == set()


def test_a_host_that_backs_off_is_asked_again_when_a_user_names_a_page_of_it() -> None:
    web = Driven(backoff_first=100.0, slot_patience=1000.0)
    web.host("a.com", pages=2)
    (first,) = web.after(1)
    web.done(first, error="connect")
    assert web.after(10) == []
    assert "a.com" in web.frontier.reject_list()
    web.learn(wanted={"a.com", "unknown.com"})
    assert "a.com" not in web.frontier.reject_list()
    web.after(1)
    web.learn(robots_known={"https://a.com": known("")})
    assert [fetch.url for fetch in web.after(10)] == ["https://a.com/1"]


def test_hosts_are_wanted_once_for_each_time_that_somebody_names_them() -> None:
    story = Gateway()
    story.mgmt.want([Seed("com.a", "https://a.com:81/", "a.com:81")])
    seen, hosts = story.gateway.wanted_hosts(0)
    assert hosts == {"a.com:81"}
    assert story.gateway.wanted_hosts(seen) == (seen, set())
    story.clock.advance(1)
    story.mgmt.want([Seed("com.a", "https://a.com:81/", "a.com:81")])
    assert story.gateway.wanted_hosts(seen)[1] == {"a.com:81"}


def test_a_host_that_backs_off_is_asked_again_when_its_settings_change_but_not_before_its_server_allows() -> None:
    web = Driven(backoff_first=100.0, slot_patience=1000.0)
    for name in ("a.com", "b.com"):
        web.host(name, pages=2, ip=f"192.0.2.{len(name) + ord(name[0])}")
    first, second = web.after(1)
    web.done(first, error="tls_authority")
    web.done(second, status=503, retry_after=50_000)
    assert web.after(10) == []
    for name in ("a.com", "b.com"):
        web.set_for(name, verify=False)
    assert web.after(1) == []
    assert web.requests.read_robots == ["https://a.com"], "what it allowed then may not hold now"
    web.learn(robots_known={"https://a.com": known("")})
    assert [fetch.url for fetch in web.after(10)] == ["https://a.com/1"]
    web.after(40)
    assert web.requests.read_robots == ["https://a.com", "https://b.com"]

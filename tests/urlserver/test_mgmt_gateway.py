"""Requests to the control plane: made in bulk, in an order that is safe, taken up again after an error."""

from __future__ import annotations

from typing import Any

import pytest

from weft.clock import ManualClock
from weft.config import TextTable
from weft.config.sections import UrlserverSettings
from weft.errors import MgmtError, MgmtUnavailable, TransitionRefused
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.rules.results import MOST_LOSSES
from weft.mgmt.values import Address, LinkState, NewLink, NodeType, RestingHost, Result, Robots
from weft.model.site import Site, SiteSettings
from weft.robots.policy import FIRST_RETRY
from weft.urlserver.address_policy import AddressPolicy
from weft.urlserver.mgmt_gateway import Clocks, MgmtGateway, RobotsPolicy
from weft.urlserver.mgmt_messages import Deferral, MgmtReplies, MgmtRequests, RobotsAnswer
from weft.urlserver.site_cache import SITES_AGE

WALL = 1_700_000_000_000
STEADY = 5_000
HOUR = 3_600_000


class Story:
    def __init__(self, mgmt: MemoryMgmt | None = None, *, rules_bytes: int = 1 << 20, **settings: Any) -> None:
        self.wall, self.steady = ManualClock(WALL), ManualClock(STEADY)
        self.mgmt = mgmt or MemoryMgmt(self.wall)
        self.lease = self.mgmt.register(NodeType.CRAWLER, "127.0.0.1:1")
        self.mgmt.own_slots(self.lease)
        address_policy = AddressPolicy(UrlserverSettings(**settings))
        self.gateway = MgmtGateway(
            self.mgmt,
            Clocks(self.wall, self.steady),
            RobotsPolicy("weft", 512_000, 60_000, rules_bytes),
            address_policy,
        )

    def add(self, *urls: str) -> None:
        self.mgmt.add([NewLink(url, url, url.split("/")[2]) for url in urls])

    def run(self, requests: MgmtRequests) -> MgmtReplies:
        replies = MgmtReplies()
        self.gateway.run(self.lease, requests, replies)
        return replies


def test_a_fresh_robots_txt_is_known_with_its_expiry_on_our_clock():
    story = Story()
    body = b"User-agent: *\nDisallow: /x\nCrawl-delay: 2"
    story.mgmt.save_robots([Robots(origin="https://a.com", status=200, body=body, expires=WALL + HOUR)])
    replies = story.run(MgmtRequests(read_robots=["https://a.com", "https://b.com"]))
    known = replies.robots_known["https://a.com"]
    assert (known.expires, known.delay) == (STEADY + HOUR, 2000)
    assert not known.rules.decide("/x").allowed
    assert replies.robots_unknown == ["https://b.com"]


def test_an_expired_robots_txt_is_unknown():
    story = Story()
    story.mgmt.save_robots([Robots(origin="https://a.com", status=200, expires=WALL)])
    assert story.run(MgmtRequests(read_robots=["https://a.com"])).robots_unknown == ["https://a.com"]


@pytest.mark.parametrize("hours", [1, 24])
def test_a_robots_txt_from_the_future_is_unknown(hours):
    story = Story()
    future = WALL + hours * HOUR
    story.mgmt.save_robots([Robots(origin="https://a.com", status=0, fetched=future, expires=future + HOUR)])
    assert story.run(MgmtRequests(read_robots=["https://a.com"])).robots_unknown == ["https://a.com"]


@pytest.mark.parametrize("hours", [-24, -1, 1, 24])
def test_a_host_rests_as_long_as_it_should_whatever_our_own_wall_clock_says(hours):
    database = ManualClock(WALL)
    story = Story(MemoryMgmt(database))
    story.add("https://a.com/1")
    (link,) = story.gateway.claim(story.lease, 10, ()).links
    story.wall.advance(hours * 3600)
    story.run(MgmtRequests(release=[link.doc_id], defer={"a.com": Deferral(STEADY + 10_000, "timeout")}))
    assert story.gateway.claim(story.lease, 10, ()).links == []
    database.advance(10)
    assert len(story.gateway.claim(story.lease, 10, ()).links) == 1


@pytest.mark.parametrize(
    ("status", "is_allowed", "hours"),
    [(200, False, 24), (404, True, 24), (403, True, 24), (301, True, 24), (503, False, 1 / 12), (0, False, 1 / 12)],
)
def test_how_a_search_ends_decides_what_is_allowed_and_for_how_long(status, is_allowed, hours):
    story = Story()
    body = b"User-agent: *\nDisallow: /"
    story.mgmt.save_robots([Robots(origin="https://a.com", status=status, body=body, expires=0)])
    replies = story.run(MgmtRequests(settle_robots={"https://a.com": RobotsAnswer(status, 0)}))
    known = replies.robots_known["https://a.com"]
    assert (known.rules is None or known.rules.decide("/x").allowed) == is_allowed
    assert known.expires == STEADY + hours * HOUR
    assert story.mgmt.robots(["https://a.com"])["https://a.com"].expires == WALL + hours * HOUR


def test_an_old_body_is_not_taken_for_the_answer_that_never_came():
    story = Story()
    story.mgmt.save_robots([Robots(origin="https://a.com", status=200, body=b"", expires=0)])
    replies = story.run(MgmtRequests(settle_robots={"https://a.com": RobotsAnswer(0, 0)}))
    assert not replies.robots_known["https://a.com"].rules.decide("/x").allowed


def test_a_robots_txt_that_was_given_back_is_left_as_it_is():
    story = Story()
    replies = story.run(MgmtRequests(robots_given_back=["https://a.com"]))
    assert replies.robots_given_back == ["https://a.com"]
    assert not story.mgmt.robots(["https://a.com"])


@pytest.mark.parametrize("stored", [None, Robots(origin="https://a.com", status=301, body=b"", expires=0)])
def test_a_robots_txt_whose_body_nobody_has_allows_nothing(stored):
    story = Story()
    if stored is not None:
        story.mgmt.save_robots([stored])
    known = story.run(MgmtRequests(settle_robots={"https://a.com": RobotsAnswer(200, 0)})).robots_known["https://a.com"]
    assert not known.rules.decide("/x").allowed
    assert known.expires == STEADY + FIRST_RETRY


def test_large_files_share_their_rules_and_those_without_room_close_their_host_for_a_while():
    story = Story(rules_bytes=45_000)
    large = [b"User-agent: *\n" + b"".join(b"Disallow: /%d/%d\n" % (kind, n) for n in range(400)) for kind in range(3)]
    origins = [f"https://{number}.com" for number in range(4)]
    bodies = [large[0], large[0], large[1], large[2]]
    story.mgmt.save_robots(
        [
            Robots(origin=origin, status=200, body=body, expires=WALL + HOUR)
            for origin, body in zip(origins, bodies, strict=True)
        ]
    )
    replies = story.run(MgmtRequests(read_robots=origins))
    known = [replies.robots_known[origin] for origin in origins]
    assert known[0].rules is known[1].rules
    assert [each.rules.decide("/free").allowed for each in known] == [True, True, True, False]
    assert [each.expires - STEADY for each in known] == [HOUR, HOUR, HOUR, FIRST_RETRY]


def test_retry_after_of_a_robots_txt_is_waited_for():
    story = Story()
    replies = story.run(MgmtRequests(settle_robots={"https://a.com": RobotsAnswer(503, 2 * HOUR)}))
    assert replies.robots_known["https://a.com"].expires == STEADY + 2 * HOUR


def test_known_addresses_are_used_and_others_are_for_the_dns():
    story = Story(static_hosts=TextTable({"static.com": "192.0.9.9"}))
    story.mgmt.save_addresses(
        [
            Address("a.com", "192.0.9.1", "192.0.9.1", WALL + HOUR),
            Address("expired.com", "192.0.9.1", "192.0.9.1", WALL),
            Address("private.com", "10.0.0.1", "10.0.0.1", WALL + HOUR),
            Address("static.com", "192.0.9.1", "192.0.9.1", WALL + HOUR),
            Address("silent.com", "", "", WALL - HOUR, "dns: no answer"),
        ]
    )
    names = ["a.com", "expired.com", "private.com", "static.com", "silent.com", "new.com"]
    replies = story.run(MgmtRequests(resolve=names))
    assert list(replies.addresses) == ["a.com"]
    assert (replies.addresses["a.com"].ip, replies.addresses["a.com"].expires) == ("192.0.9.1", STEADY + HOUR)
    assert replies.unresolved == names[1:]
    assert replies.unanswered == {"silent.com"}


def test_a_deferred_host_is_not_claimed_before_its_moment():
    story = Story()
    story.add("https://a.com/1")
    (link,) = story.gateway.claim(story.lease, 10, ()).links
    story.run(MgmtRequests(release=[link.doc_id], defer={"a.com": Deferral(STEADY + 10_000, "timeout")}))
    assert story.mgmt.resting_hosts(0).hosts == [RestingHost("a.com", 1, 10_000, "timeout")]
    assert story.gateway.claim(story.lease, 10, ()).links == []
    story.wall.advance(10)
    assert len(story.gateway.claim(story.lease, 10, ()).links) == 1


def test_a_refused_link_brings_its_replacement():
    story = Story()
    story.add("https://a.com/1", "https://a.com/2")
    (link,) = story.gateway.claim(story.lease, 1, ()).links
    replies = story.run(MgmtRequests(refuse=[Result(doc_id=link.doc_id, claim=link.claim, error="robots")]))
    assert [other.url for other in replies.links] == ["https://a.com/2"]
    assert story.gateway.outcomes([link.doc_id])[link.doc_id].state is LinkState.ERROR


def test_the_replacement_of_a_link_that_was_lost_for_good_is_fetched_too():
    story = Story()
    story.add("https://a.com/1", "https://a.com/2")
    for _ in range(MOST_LOSSES - 1):
        (link,) = story.gateway.claim(story.lease, 1, ()).links
        assert story.run(MgmtRequests(lose=[(link.doc_id, link.claim)])).links == []
    (link,) = story.gateway.claim(story.lease, 1, ()).links
    replies = story.run(MgmtRequests(lose=[(link.doc_id, link.claim)]))
    assert [(other.url, other.claim) for other in replies.links] == [("https://a.com/2", 1)]
    assert story.mgmt.details([replies.links[0].doc_id]), "it is ours, so nobody else fetches it"


class BreakingMgmt(MemoryMgmt):
    is_broken = True

    def lost(self, crawler, links):
        if self.is_broken:
            raise MgmtUnavailable("the database went away")
        return super().lost(crawler, links)


def test_after_an_error_what_was_done_stays_done_and_the_rest_is_done_later():
    mgmt = BreakingMgmt(ManualClock(WALL))
    story = Story(mgmt)
    story.add("https://a.com/1", "https://a.com/2", "https://a.com/3")
    first, second = story.gateway.claim(story.lease, 2, ()).links
    requests = MgmtRequests(
        refuse=[Result(doc_id=first.doc_id, claim=first.claim, error="robots")], lose=[(second.doc_id, second.claim)]
    )
    replies = MgmtReplies()
    with pytest.raises(MgmtUnavailable):
        story.gateway.run(story.lease, requests, replies)
    mgmt.is_broken = False
    story.gateway.run(story.lease, requests, replies)
    assert [link.url for link in replies.links] == ["https://a.com/3"], "the replacement was not forgotten"
    assert story.gateway.outcomes([second.doc_id])[second.doc_id].state is LinkState.PENDING
    assert not requests


class RefusingMgmt(MemoryMgmt):
    """Refuses one link, whatever is said of it, and any robots.txt."""

    refused = 0

    def refuse(self, crawler, results):
        self._check(result.doc_id for result in results)
        return super().refuse(crawler, results)

    def lost(self, crawler, links):
        self._check(doc_id for doc_id, _ in links)
        return super().lost(crawler, links)

    def release(self, crawler, doc_ids=None, keep=frozenset()):
        self._check(doc_ids or ())
        return super().release(crawler, doc_ids)

    def open_robots(self, crawler, urls):
        raise TransitionRefused("link 1: a link that is odd cannot change by open; nothing was changed")

    def _check(self, doc_ids) -> None:
        if self.refused in doc_ids:
            raise MgmtError(f"link {self.refused}: no such link")


@pytest.mark.parametrize("call", ["refuse", "lost", "release"])
def test_a_link_that_the_control_plane_refuses_holds_up_no_other(call, caplog):
    mgmt = RefusingMgmt(ManualClock(WALL))
    story = Story(mgmt)
    story.add(*(f"https://a.com/{number}" for number in range(5)))
    links = story.gateway.claim(story.lease, 5, ()).links
    mgmt.refused = links[1].doc_id
    requests = {
        "refuse": MgmtRequests(refuse=[Result(doc_id=link.doc_id, claim=link.claim, error="robots") for link in links]),
        "lost": MgmtRequests(lose=[(link.doc_id, link.claim) for link in links]),
        "release": MgmtRequests(release=[link.doc_id for link in links]),
    }[call]
    requests.resolve = ["a.com"]
    replies = story.run(requests)
    states = [story.gateway.outcomes([link.doc_id])[link.doc_id].state for link in links]
    assert [state is LinkState.CRAWLING for state in states] == [False, True, False, False, False]
    assert replies.unresolved == ["a.com"], "what follows is done too"
    assert f"control plane refused call={call}" in caplog.text
    assert not requests


def test_a_robots_txt_that_cannot_be_opened_is_tried_again_later():
    story = Story(RefusingMgmt(ManualClock(WALL)))
    replies = story.run(MgmtRequests(open_robots={"https://a.com": "https://a.com/robots.txt"}))
    assert replies.robots_busy == ["https://a.com"]


def test_large_errands_go_in_parts():
    story = Story()
    story.add(*(f"https://a.com/{number}" for number in range(2500)))
    links = story.gateway.claim(story.lease, 2500, ()).links
    story.run(MgmtRequests(release=[link.doc_id for link in links]))
    assert story.mgmt.counts().links["pending"] == 2500


def delayed(name: str, delay: float) -> Site:
    return Site(name=name, settings=SiteSettings(delay=delay))


def test_a_known_address_comes_with_what_is_set_for_the_hosts_sites():
    story = Story()
    story.mgmt.set_sites([delayed("a.com", 3), delayed("www.a.com:8080", 5)])
    names = ["www.a.com", "www.a.com:8080", "b.com"]
    story.mgmt.save_addresses([Address(name, "192.0.9.1", "192.0.9.1", WALL + HOUR) for name in names])
    replies = story.run(MgmtRequests(resolve=names))
    assert [replies.addresses[name].settings.delay for name in names] == [3, 5, None]


def test_an_address_from_the_dns_comes_with_them_too():
    story = Story()
    story.mgmt.set_sites([delayed("a.com", 3)])
    found = story.gateway.host_addresses([Address("a.com", "192.0.9.1", "192.0.9.1", WALL + HOUR)], {"a.com"})
    assert (found["a.com"].settings.delay, found["a.com"].may_change) == (3, True)


def test_changed_settings_are_noticed_once_the_sites_are_read_again():
    story = Story()
    story.mgmt.set_sites([delayed("a.com", 3)])
    seen, found = story.gateway.changed_settings(["a.com", "b.com"], 0)
    assert {host: settings.delay for host, settings in found.items()} == {"a.com": 3, "b.com": None}
    story.mgmt.set_sites([delayed("a.com", 4)])
    assert story.gateway.changed_settings(["a.com"], seen) == (seen, {}), "not read again yet"
    story.steady.advance(SITES_AGE / 1000)
    seen, found = story.gateway.changed_settings(["a.com"], seen)
    assert found["a.com"].delay == 4
    story.steady.advance(SITES_AGE / 1000)
    assert story.gateway.changed_settings(["a.com"], seen) == (seen, {}), "nothing has changed"


def test_hosts_of_one_site_share_their_settings():
    story = Story()
    story.mgmt.set_sites([delayed("a.com", 3)])
    _, found = story.gateway.changed_settings(["x.a.com", "y.a.com"], 0)
    assert found["x.a.com"] is found["y.a.com"]


def test_a_port_is_judged_by_the_sites_that_were_named_before_the_links_were_claimed():
    story = Story()
    host = "www.a.com:8010"
    story.steady.advance(1)
    assert story.run(MgmtRequests(resolve=[host])).addresses[host].reason == "port", "nobody named it"
    story.mgmt.add_sites([Site(name=host)])
    assert story.run(MgmtRequests(resolve=[host])).addresses[host].reason == "port", "a claim is what calls for a look"
    story.gateway.claim(story.lease, 1, ())
    assert story.run(MgmtRequests(resolve=[host])).unresolved == [host]

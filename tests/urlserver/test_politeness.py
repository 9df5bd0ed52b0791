"""When may a host and an address be asked: each rule by itself."""

from __future__ import annotations

import random

import pytest

from support.frontier_driving import Driven, known
from weft.wire import Fetch


def test_a_fresh_server_treats_every_host_as_just_asked():
    web = Driven()
    web.host("a.com")
    assert web.due() == [] == web.after(0.999)
    assert len(web.after(0.001)) == 1


def test_a_host_that_is_met_later_is_asked_at_once():
    web = Driven()
    web.now += 5000
    web.host("a.com")
    assert len(web.due()) == 1


def test_the_gap_counts_from_the_end_of_the_last_answer():
    web = Driven()
    web.host("a.com")
    (first,) = web.after(1)
    assert web.after(7) == [], "one at a time"
    web.done(first)
    assert web.after(0.999) == []
    assert len(web.after(0.001)) == 1


def test_several_at_a_time_have_their_gap_between_starts():
    web = Driven(req_host_concurrent=2, spider_lag=0)
    web.host("a.com", pages=4)
    assert len(web.after(1)) == 1
    assert web.after(0.999) == []
    assert len(web.after(0.001)) == 1
    assert web.after(10) == [], "both places are taken"
    web.done(web.sent[0][1])
    assert len(web.due()) == 1


def test_where_starts_are_counted_a_late_start_is_allowed_for():
    web = Driven(req_host_concurrent=2, spider_lag=0.25)
    web.host("a.com", pages=4)
    assert len(web.after(2)) == 1
    assert web.after(1.249) == []
    assert len(web.after(0.001)) == 1


def test_a_crawl_delay_widens_the_gap_and_allows_one_at_a_time():
    web = Driven(req_host_concurrent=5)
    web.host("a.com", robots=known("User-agent: *\nCrawl-delay: 7"))
    (first,) = web.after(7)
    assert web.after(60) == []
    web.done(first)
    assert web.after(6.999) == []
    assert len(web.after(0.001)) == 1


def test_a_sites_delay_widens_the_gap_and_allows_one_at_a_time():
    web = Driven(req_host_concurrent=5)
    web.host("a.com")
    web.set_for("a.com", delay=7)
    (first,) = web.after(7)
    assert web.after(60) == []
    web.done(first)
    assert web.after(6.999) == []
    assert len(web.after(0.001)) == 1


@pytest.mark.parametrize(("crawl_delay", "delay"), [(7, 2), (2, 7), (7, 7), (0, 7), (7, 0)])
def test_the_longer_of_crawl_delay_and_sites_delay_counts(crawl_delay, delay):
    web = Driven()
    web.host("a.com", robots=known(f"User-agent: *\nCrawl-delay: {crawl_delay}"))
    web.set_for("a.com", delay=delay)
    assert web.after(6.999) == []
    (first,) = web.after(0.001)
    web.done(first)
    assert web.after(6.999) == []
    assert len(web.after(0.001)) == 1


def test_a_sites_rate_replaces_the_usual_one_up_and_down():
    web = Driven(req_ip_per_sec=100)
    web.host("fast.com", pages=3)
    web.host("slow.com", pages=3, ip="192.0.2.2")
    web.set_for("fast.com", rate=10)
    web.set_for("slow.com", rate=0.1)
    assert [fetch.url for fetch in web.after(0.1)] == ["https://fast.com/0"]
    assert web.after(9.899) == []
    assert [fetch.url for fetch in web.after(0.001)] == ["https://slow.com/0"]


def test_a_sites_rate_is_bounded_by_its_address_and_its_crawl_delay():
    web = Driven(req_ip_per_sec=2, spider_lag=0)
    web.host("a.com", pages=3, robots=known("User-agent: *\nCrawl-delay: 7"))
    web.set_for("a.com", rate=1000)
    assert web.after(6.999) == []
    (first,) = web.after(0.001)
    web.done(first)
    assert web.after(6.999) == []


def test_a_site_may_have_more_requests_at_a_time_than_others():
    web = Driven(spider_lag=0.25)
    web.host("a.com", pages=4)
    web.host("b.com", pages=4, ip="192.0.2.2")
    web.set_for("a.com", concurrent=3)
    web.after(1)
    for _ in range(5):
        web.after(1.25)
    assert [fetch.url for _, fetch in web.sent] == [
        "https://b.com/0",
        "https://a.com/0",
        "https://a.com/1",
        "https://a.com/2",
    ]


def test_a_site_that_gets_fewer_requests_at_a_time_rests_after_the_last_answer():
    web = Driven(req_host_concurrent=3, spider_lag=0)
    web.host("a.com", pages=4)
    (first,) = web.after(1)
    (second,) = web.after(1)
    web.set_for("a.com", concurrent=1)
    web.done(first)
    assert web.after(5) == []
    web.done(second)
    assert web.after(0.999) == []
    assert len(web.after(0.001)) == 1


def test_a_sites_delay_is_never_rounded_down():
    web = Driven()
    web.host("a.com")
    web.set_for("a.com", delay=2.0001)
    assert web.after(2) == []
    assert len(web.after(0.001)) == 1


def test_a_sites_delay_may_be_longer_than_the_longest_crawl_delay():
    web = Driven(crawl_delay_max=60)
    web.host("a.com")
    web.set_for("a.com", delay=86_400)
    assert web.after(86_399) == []
    assert len(web.after(1)) == 1


def test_a_sites_delay_of_zero_changes_nothing():
    web = Driven(req_host_concurrent=2, spider_lag=0)
    web.host("a.com")
    web.set_for("a.com", delay=0)
    assert [len(web.after(1)), len(web.after(1))] == [1, 1], "two at a time, a second apart"


def test_a_neighbours_crawl_delay_slows_nobody_else():
    web = Driven()
    web.host("slow.com", robots=known("User-agent: *\nCrawl-delay: 50"))
    web.host("fast.com", pages=3)
    assert [fetch.url for fetch in web.after(1)] == ["https://fast.com/0"]


def test_a_crawl_delay_beyond_the_longest_skips_the_host():
    web = Driven()
    web.host("a.com", pages=2, robots=known("User-agent: *\nCrawl-delay: 61"))
    assert web.after(1) == []
    assert web.refused() == {1: "robots", 2: "robots"}


def test_an_address_is_asked_so_often_and_so_many_at_once():
    web = Driven(req_ip_concurrent=2, req_ip_per_sec=4, spider_lag=0)
    for number in range(5):
        web.host(f"h{number}.com", pages=1)
    assert len(web.after(1)) == 1
    assert web.after(0.249) == []
    assert len(web.after(0.001)) == 1
    assert web.after(30) == [], "two are under way"
    web.done(web.sent[0][1])
    assert len(web.due()) == 1


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rate", [2, 8, 12.5])
def test_an_address_is_not_asked_too_often_by_spiders_that_freeze(rate: float, seed: int):
    """They begin several requests at once when they go on: what counts is what the web server sees."""
    choose = random.Random(seed)
    web = Driven(req_ip_per_sec=rate, req_host_per_sec=5)
    for number in range(30):
        web.host(f"h{number}.com", pages=20)
    began, under_way, frozen_until = list[int](), list[tuple[int, Fetch]](), 0
    while web.now < 1_060_000:
        if choose.random() < 0.005:
            frozen_until = web.now + choose.randrange(50, 1900)
        for fetch in web.after(0.01):
            began.append(max(web.now, frozen_until))
            under_way.append((began[-1] + choose.choice((5, 20, 300, 3000)), fetch))
        for ended in [flight for flight in under_way if flight[0] <= web.now]:
            under_way.remove(ended)
            web.done(ended[1])
    began.sort()
    count = int(rate)
    assert len(began) > 10 * rate
    assert min(last - first for first, last in zip(began, began[count:], strict=False)) >= count * 1000 / rate


def test_a_request_that_hangs_does_not_hold_up_its_address():
    web = Driven(req_ip_per_sec=1, req_host_per_sec=5)
    for number in range(3):
        web.host(f"h{number}.com", pages=1)
    (hanging,) = web.after(1)
    assert web.after(2.9) == []
    assert len(web.after(0.1)) == 1
    assert hanging not in web.due()


def test_hosts_of_a_slash_64_share_their_clock():
    web = Driven(req_ip_concurrent=1)
    for number, name in enumerate(("a.com", "b.com")):
        web.offer(f"https://{name}/")
        web.frontier.locate(name, _place6(f"2001:db8::{number + 1}"), web.now)
        web.frontier.registry.hosts[name].https = known("")
    assert len(web.after(5)) == 1
    assert web.after(5) == []


def _place6(address: str):
    from weft.addresses.address_rules import ip_key
    from weft.urlserver.mgmt_messages import HostAddress

    return HostAddress(address, ip_key(address), 10**12)


def test_retry_after_is_waited_for_and_told_to_all():
    web = Driven(slot_patience=100)
    web.host("a.com")
    (first,) = web.after(1)
    web.done(first, status=429, retry_after=20_000)
    assert web.requests.defer == {"a.com": (web.now + 20_000, "status 429 Retry-After 20")}
    assert web.after(19.999) == []
    assert len(web.after(0.001)) == 1


def test_a_retry_after_of_years_is_a_day():
    web = Driven()
    web.host("a.com")
    (first,) = web.after(1)
    web.done(first, status=503, retry_after=10**12)
    assert web.requests.defer["a.com"].until == web.now + 86_400_000


@pytest.mark.parametrize("outcome", [{"error": "network"}, {"error": "timeout"}, {"error": "tls"}, {"status": 502}])
def test_a_failing_host_is_left_alone_twice_as_long_each_time(outcome):
    web = Driven(backoff_first=4, slot_patience=1000, host_failures=100)
    web.host("a.com", pages=9)
    (fetch,) = web.after(1)
    for wait in (4, 8, 16):
        web.done(fetch, **outcome)
        assert web.after(wait - 0.001) == []
        (fetch,) = web.after(0.001)
    web.done(fetch)
    assert len(web.after(1)) == 1, "an answer makes good"


def test_the_wait_that_ends_last_has_its_own_reason():
    web = Driven(backoff_first=4, slot_patience=1000, host_failures=100, req_host_concurrent=2)
    web.host("a.com", pages=4)
    first, second = web.after(5) + web.after(5)
    web.done(first, status=503, retry_after=60_000)
    web.done(second, error="timeout")
    asked = web.now + 60_000
    assert web.requests.defer == {"a.com": (asked, "status 503 Retry-After 60")}, "four seconds are no more"
    (third,) = web.after(60)
    web.done(third, error="timeout")
    assert web.requests.defer["a.com"].reason == "timeout"


def test_a_wait_that_a_user_cut_to_what_the_server_asked_for_has_the_servers_reason():
    web = Driven(backoff_first=600, slot_patience=1000, host_failures=100, req_host_concurrent=3)
    web.host("a.com", pages=4)
    first, second, third = web.after(5) + web.after(5) + web.after(5)
    web.done(first, status=503, retry_after=60_000)
    web.done(second, error="timeout")
    assert web.requests.defer["a.com"].reason == "timeout"
    asked = web.now + 60_000
    web.learn(wanted={"a.com"})
    web.done(third, status=502, retry_after=1000)
    assert web.requests.defer == {"a.com": (asked, "status 503 Retry-After 60")}


def test_a_page_that_is_not_there_is_not_the_hosts_fault():
    web = Driven()
    web.host("a.com")
    (fetch,) = web.after(1)
    web.done(fetch, status=404)
    assert len(web.after(1)) == 1
    assert not web.requests.defer


def test_after_enough_failures_what_waits_for_the_host_is_given_up():
    web = Driven(backoff_first=1, host_failures=3, slot_patience=1000)
    web.host("a.com", pages=6)
    for wait in (1, 1, 2):
        (fetch,) = web.after(wait)
        web.done(fetch, error="network")
    assert web.refused() == {4: "network", 5: "network", 6: "network"}
    assert not web.frontier.registry.queues.taken


def test_a_host_that_must_wait_long_gives_its_links_back():
    web = Driven(slot_patience=30)
    web.host("a.com", pages=4)
    (fetch,) = web.after(1)
    web.done(fetch, status=503, retry_after=31_000)
    assert web.requests.release == [2, 3, 4]
    assert not web.frontier.registry.queues.taken
    assert "a.com" in web.frontier.reject_list()


def test_a_slow_host_lets_another_one_have_its_queue():
    web = Driven(queue_count=1, slot_patience=5)
    web.host("slow.com", robots=known("User-agent: *\nCrawl-delay: 10"))
    web.host("other.com", pages=1, ip="192.0.2.2")
    (second,) = web.after(1)
    assert second.url == "https://other.com/0"
    (first,) = web.after(9)
    assert first.url == "https://slow.com/0"
    web.done(first)
    web.done(second)
    assert web.after(9.999) == []
    assert [fetch.url for fetch in web.after(0.001)] == ["https://slow.com/1"], "its clock went on"


def test_a_clock_outlives_the_queue():
    web = Driven()
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    web.done(fetch)
    assert not web.frontier.registry.queues.taken
    web.offer("https://a.com/more")
    assert web.after(0.999) == []
    assert len(web.after(0.001)) == 1


def test_hosts_and_addresses_are_forgotten_when_their_clocks_have_run_out():
    web = Driven()
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    web.done(fetch)
    registry = web.frontier.registry
    registry.forget(web.now + 999)
    assert set(registry.hosts) == {"a.com"}
    registry.forget(web.now + 1000)
    assert not registry.hosts
    assert len(registry.ips) == 0


def test_a_clock_that_was_set_again_is_not_forgotten_at_its_first_moment():
    web = Driven()
    web.host("a.com", pages=1)
    (first,) = web.after(1)
    web.done(first)
    web.offer("https://a.com/again")
    (second,) = web.after(1)
    web.now += 500
    web.done(second)
    web.now += 100
    web.frontier.registry.forget(web.now)
    web.offer("https://a.com/third")
    assert web.after(0.899) == []
    assert len(web.after(0.001)) == 1


def test_an_address_that_everybody_left_is_forgotten_once_its_last_request_has_ended():
    web = Driven()
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    web.place("a.com", "192.0.2.2")
    addresses, registry = web.frontier.registry.ips, web.frontier.registry
    web.now += 5000
    registry.forget(web.now)
    assert len(addresses) == 2, "a request is under way to the old one"
    web.done(fetch)
    web.now += 5000
    registry.forget(web.now)
    assert len(addresses) == 0


def test_parts_that_stay_ours_do_not_begin_quietly_again():
    web = Driven()
    web.now += 60_000
    web.frontier.own(range(256), web.now)
    web.host("a.com")
    assert len(web.due()) == 1


def test_nobody_is_overtaken_at_an_address():
    """Between two requests to one host, every other host there that was ready all the time is asked."""
    web = Driven(req_ip_concurrent=3, req_ip_per_sec=50, spider_lag=0, req_host_per_sec=5)
    for number in range(20):
        web.host(f"h{number}.com", pages=30)
    order, ready_since, under_way = [], dict.fromkeys(range(20), 0), []
    for turn in range(4000):
        for fetch in web.after(0.01):
            host = int(fetch.url[9:].partition(".")[0])
            order.append((web.now, host, ready_since.pop(host)))
            under_way.append((turn + 1 + (host * 7 + turn) % 13, host, fetch))
        for ended in [flight for flight in under_way if flight[0] <= turn]:
            under_way.remove(ended)
            web.done(ended[2])
            ready_since[ended[1]] = web.now + 200
    assert len(order) > 500
    for position, (_, host, ready) in enumerate(order):
        before = [(when, other) for when, other, _ in order[:position] if when >= ready]
        others = [other for _, other in before]
        assert len(others) == len(set(others)), f"h{host}.com waited while another one was asked twice"

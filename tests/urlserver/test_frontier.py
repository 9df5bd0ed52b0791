"""What the URL server decides about links, queues and spiders; nothing here touches a socket."""

from __future__ import annotations

from support.frontier_driving import SPIDER, Driven, link
from weft.mgmt.values import LinkState
from weft.model.site import SiteSettings
from weft.urlserver.in_flight import SpiderId
from weft.urlserver.returns import ReturnReason
from weft.wire import TransId, split_trans_id


def test_links_of_a_host_are_sent_in_the_order_in_which_they_came():
    web = Driven()
    web.host("a.com", pages=5)
    paths = []
    for _ in range(5):
        (fetch,) = web.after(1)
        paths.append(fetch.url)
        web.done(fetch)
    assert paths == [f"https://a.com/{page}" for page in range(5)]


def test_an_emptied_queue_takes_the_host_that_has_waited_longest():
    web = Driven(queue_count=1)
    for name in ("a.com", "b.com", "c.com"):
        web.host(name, pages=1)
    hosts = []
    for _ in range(3):
        (fetch,) = web.after(1)
        hosts.append(fetch.url)
        web.done(fetch)
    assert hosts == ["https://a.com/0", "https://b.com/0", "https://c.com/0"]


def test_what_fits_nowhere_is_given_back():
    web = Driven(queue_count=1, queue_len=2, leftover_len=1)
    web.host("a.com", pages=5)
    assert web.requests.release == [4, 5]
    web.host("b.com", pages=1)
    assert web.requests.release == [4, 5, 6]


def test_more_is_wanted_while_a_queue_is_empty():
    web = Driven(queue_count=2)
    assert web.frontier.wants_links(web.now)
    web.host("a.com")
    assert web.frontier.wants_links(web.now)
    web.host("b.com", ip="192.0.2.2")
    assert not web.frontier.wants_links(web.now)


def test_a_full_host_is_rejected_until_its_queue_is_half_empty():
    web = Driven(queue_len=4)
    web.host("a.com", pages=4)
    rejected = []
    for _ in range(4):
        rejected.append("a.com" in web.frontier.reject_list())
        (fetch,) = web.after(1)
        web.done(fetch)
    assert rejected == [True, True, False, False]


def test_hosts_of_a_crowded_address_are_rejected_until_half_of_its_links_are_gone():
    web = Driven(max_per_ip=4, req_ip_per_sec=1000)
    web.host("a.com", pages=2)
    web.host("b.com", pages=2)
    web.host("far.com", pages=2, ip="192.0.2.9")
    assert web.frontier.reject_list() == set()
    web.offer("https://b.com/more")
    assert web.frontier.reject_list() == {"a.com", "b.com"}
    web.host("c.com", pages=1)
    assert web.frontier.reject_list() == {"a.com", "b.com", "c.com"}
    for _ in range(2):
        for fetch in web.after(1) + web.after(0.1) + web.after(0.1):
            web.done(fetch)
    assert web.frontier.reject_list() == set()


def test_a_late_done_frees_nothing():
    web = Driven(timeout_spider_status=60)
    web.host("a.com", pages=2)
    (first,) = web.after(1)
    web.now += 60_000
    (silent,) = web.frontier.in_flight.overdue(web.now)
    web.come_back(first, ReturnReason.SILENT, is_stored=False)
    (again,) = web.after(1)
    assert silent.doc_id == again.doc_id == first.doc_id
    assert again.trans_id != first.trans_id
    web.done(first)
    assert web.after(100) == [], "the slot is still taken by the second sending"
    web.done(again)
    assert len(web.after(1)) == 1


def test_done_twice_frees_one_place():
    web = Driven(req_host_concurrent=2, spider_lag=0)
    web.host("a.com", pages=5)
    (first,) = web.after(1)
    (second,) = web.after(1)
    web.done(first)
    web.done(first)
    assert len(web.after(1)) == 1
    assert web.after(1) == []
    assert web.frontier.in_flight.find(second.trans_id) is not None


def test_done_said_again_while_the_outcome_is_read_does_not_move_the_end():
    web = Driven()
    web.host("a.com", pages=2)
    (fetch,) = web.after(1)
    assert web.frontier.in_flight.done(SPIDER, fetch.trans_id, web.now) is not None
    web.now += 400
    assert web.frontier.in_flight.done(SPIDER, fetch.trans_id, web.now) is None
    web.come_back(fetch, ReturnReason.DONE)
    assert len(web.after(0.6)) == 1


def test_done_that_comes_while_a_silent_url_is_looked_up_settles_it():
    """The look-up found nothing yet; DONE, whose result is stored, must not lead to a second fetch."""
    web = Driven()
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    web.now += 60_000
    assert len(web.frontier.in_flight.overdue(web.now)) == 1
    assert web.frontier.in_flight.done(SPIDER, fetch.trans_id, web.now) is not None
    web.come_back(fetch, ReturnReason.SILENT, is_stored=False)
    web.come_back(fetch, ReturnReason.DONE)
    assert web.after(5) == []
    assert not web.requests


def test_a_spider_cannot_speak_for_another_one():
    web = Driven(spiders=2)
    web.host("a.com", pages=1)
    web.after(1)
    ((spider, fetch),) = web.sent
    other = SpiderId(1 - spider)
    assert web.frontier.in_flight.done(other, fetch.trans_id, web.now) is None
    assert not web.frontier.in_flight.working(other, fetch.trans_id, web.now)


def test_made_up_trans_ids_are_nobody():
    web = Driven()
    web.host("a.com")
    (fetch,) = web.after(1)
    slots = split_trans_id(fetch.trans_id)
    forged = TransId(f"{slots.host}.{slots.active}.{slots.generation + 1}")
    assert web.frontier.in_flight.done(SPIDER, forged, web.now) is None
    assert len(web.frontier.in_flight) == 1


def test_generations_are_never_used_again():
    web = Driven(queue_count=1)
    web.host("a.com", pages=50)
    seen = set()
    for _ in range(50):
        (fetch,) = web.after(1)
        seen.add(split_trans_id(fetch.trans_id).generation)
        web.done(fetch)
    assert len(seen) == 50


def test_after_three_silences_the_link_is_an_error():
    web = Driven()
    web.host("a.com", pages=1)
    for _ in range(3):
        (fetch,) = web.after(1)
        web.now += 60_000
        assert len(web.frontier.in_flight.overdue(web.now)) == 1
        web.come_back(fetch, ReturnReason.SILENT, is_stored=False)
    assert web.refused() == {1: "timeout"}
    assert web.after(1) == []


def test_working_keeps_a_url_alive():
    web = Driven(timeout_spider_status=60)
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    for _ in range(5):
        web.now += 59_000
        assert web.frontier.in_flight.overdue(web.now) == []
        assert web.frontier.in_flight.working(SPIDER, fetch.trans_id, web.now)


def test_a_closed_socket_frees_nothing():
    web = Driven()
    web.host("a.com", pages=2)
    (fetch,) = web.after(1)
    web.frontier.in_flight.disconnect(SPIDER)
    assert web.after(30) == []
    assert web.frontier.in_flight.of(SPIDER)[0].trans_id == fetch.trans_id


def test_after_a_reconnection_pending_urls_are_sent_again_under_the_rate_and_first():
    web = Driven()
    web.host("a.com", pages=2)
    (fetch,) = web.after(1)
    web.frontier.in_flight.disconnect(SPIDER)
    web.now += 5000
    web.frontier.in_flight.connect(SPIDER)
    web.come_back(fetch, ReturnReason.LOST, is_stored=False)
    assert web.after(0.999) == []
    assert [again.doc_id for again in web.after(0.001)] == [1]


def test_after_a_reconnection_what_was_stored_is_not_sent_again():
    web = Driven()
    web.host("a.com", pages=2)
    (fetch,) = web.after(1)
    web.come_back(fetch, ReturnReason.LOST)
    assert [again.doc_id for again in web.after(1)] == [2]
    assert not web.requests


def test_a_url_that_goes_down_with_ten_spiders_is_given_up():
    web = Driven()
    web.host("a.com", pages=1)
    for _ in range(10):
        (fetch,) = web.after(1)
        web.come_back(fetch, ReturnReason.LOST, is_stored=False)
    assert web.refused() == {1: "lost"}


def test_a_spider_that_never_said_a_word_costs_a_url_nothing():
    web = Driven()
    web.host("a.com", pages=1)
    for _ in range(20):
        (fetch,) = web.after(1)
        web.come_back(fetch, ReturnReason.NEVER_REPLIED, is_stored=False)
    assert web.refused() == {}


def test_done_without_a_result_is_a_loss():
    web = Driven()
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    web.done(fetch, is_stored=False)
    assert web.requests.lose == [(1, 1)]


def test_a_loss_is_not_held_against_the_host_and_lets_nothing_out_early():
    web = Driven()
    web.host("a.com", pages=2)
    (fetch,) = web.after(1)
    web.done(fetch, is_stored=False)
    assert (web.requests.take().defer, web.frontier.reject_list()) == ({}, set())
    web.frontier.offer([link(1, "https://a.com/0", claim=2)], web.now)
    assert web.after(0.999) == [], "whichever of its pages is next"
    assert len(web.after(0.001)) == 1


def test_a_result_of_an_older_claim_frees_the_slot_and_changes_nothing_else():
    web = Driven()
    web.host("a.com", pages=2)
    (fetch,) = web.after(1)
    web.done(fetch, claim=2, state=LinkState.CRAWLING)
    assert not web.requests
    assert len(web.after(1)) == 1


def test_a_replacement_is_queued():
    web = Driven()
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    web.done(fetch, error="too_large", replacement=link(77, "https://a.com/other"))
    assert [sent.doc_id for sent in web.after(1)] == [77]


def test_spiders_share_the_load_and_a_full_one_gets_no_more():
    web = Driven(spiders=3, spider_urls=4)
    for number in range(30):
        web.host(f"h{number}.com", pages=1, ip=f"192.0.2.{number}")
    web.after(1)
    loads = [sum(1 for spider, _ in web.sent if spider == number) for number in range(3)]
    assert loads == [4, 4, 4]
    web.frontier.in_flight.disconnect(SpiderId(1))
    for spider, fetch in web.sent:
        web.frontier.in_flight.done(SpiderId(spider), fetch.trans_id, web.now)
        web.come_back(fetch, ReturnReason.DONE)
    before = len(web.sent)
    web.due()
    assert {spider for spider, _ in web.sent[before:]} == {0, 2}


def test_a_host_without_an_address_is_refused_with_the_reason():
    web = Driven()
    web.offer("https://a.com/1", "https://a.com/2")
    assert web.requests.resolve == ["a.com"]
    web.place("a.com", "", reason="unknown_host")
    assert web.refused() == {1: "unknown_host", 2: "unknown_host"}


def test_a_host_that_the_dns_said_nothing_about_is_given_back_for_a_while():
    web = Driven(backoff_first=5)
    web.offer("https://a.com/1")
    web.place("a.com", "", reason="dns", may_change=True)
    assert web.requests.release == [1]
    assert web.requests.defer == {"a.com": (web.now + 5000, "dns")}


def test_an_address_is_looked_up_again_when_it_expires_and_the_host_moves():
    web = Driven()
    web.offer("https://a.com/1", "https://a.com/2")
    web.place("a.com", "192.0.2.1", expires=web.now + 1500)
    web.frontier.registry.hosts["a.com"].https = _free()
    (first,) = web.after(1)
    web.done(first)
    assert web.after(1) == []
    assert web.requests.resolve == ["a.com", "a.com"]
    web.place("a.com", "192.0.2.2")
    assert [fetch.ip for fetch in web.due()] == ["192.0.2.2"]


def _free():
    from support.frontier_driving import FREE

    return FREE


def test_a_slow_dns_holds_nobody_else_up():
    web = Driven(queue_count=1)
    web.offer(*(f"https://unresolved{number}.com/" for number in range(50)))
    web.host("a.com", pages=1)
    assert len(web.after(1)) == 1
    assert web.frontier.registry.queues.arriving == 50


def test_a_host_of_another_url_servers_part_is_given_back():
    web = Driven(parts=range(0))
    web.offer("https://a.com/1")
    web.place("a.com")
    assert web.requests.release == [1]
    assert web.after(5) == []


def test_parts_that_are_lost_are_given_back_and_new_ones_begin_quietly():
    web = Driven()
    web.host("a.com", pages=3)
    (fetch,) = web.after(1)
    web.frontier.own([], web.now)
    assert web.requests.release == [2, 3]
    assert web.frontier.has_foreign_in_flight, "a request is under way"
    web.done(fetch)
    assert not web.frontier.has_foreign_in_flight
    web.now += 60_000
    web.frontier.registry.forget(web.now)
    web.frontier.own(range(256), web.now)
    web.host("a.com", pages=1)
    assert web.due() == [] == web.after(0.999)
    assert len(web.after(0.001)) == 1


def test_a_url_that_went_out_before_its_part_was_lost_is_not_sent_again():
    web = Driven()
    web.host("a.com", pages=1)
    (fetch,) = web.after(1)
    web.frontier.own([], web.now)
    web.come_back(fetch, ReturnReason.LOST, is_stored=False)
    assert web.after(5) == []
    assert web.requests.release == [1]


def test_a_delay_that_comes_with_the_address_holds_for_the_first_request():
    web = Driven()
    web.offer("https://a.com/1")
    web.place("a.com", settings=SiteSettings(delay=5))
    web.after(4.999)
    assert not web.requests.read_robots, "not even its robots.txt is asked for"
    web.after(0.001)
    assert web.requests.read_robots == ["https://a.com"]


def test_a_changed_delay_is_obeyed_by_hosts_that_wait():
    web = Driven()
    web.host("a.com", pages=5)
    web.done(web.after(1)[0])
    web.set_for("a.com", delay=30)
    assert web.after(29.999) == []
    web.done(web.after(0.001)[0])
    web.now += 2000
    web.set_for("a.com", delay=3)
    assert web.due() == []
    web.done(web.after(1)[0])
    web.now += 1000
    web.set_for("a.com")
    assert len(web.due()) == 1, "without a delay it may be asked at once"


def test_a_changed_delay_counts_from_the_end_of_what_is_in_flight():
    web = Driven(req_host_concurrent=3, spider_lag=0)
    web.host("a.com", pages=5)
    flying = [*web.after(1), *web.after(1)]
    web.set_for("a.com", delay=10)
    assert web.after(20) == [], "one at a time"
    web.done(flying[0])
    assert web.after(20) == [], "the other one is still in flight"
    web.done(flying[1])
    assert web.after(9.999) == []
    assert len(web.after(0.001)) == 1


def test_a_changed_delay_counts_from_the_change_where_ends_were_not_noted():
    web = Driven(req_host_concurrent=3, spider_lag=0)
    web.host("a.com", pages=1)
    (flying,) = web.after(1)
    web.now += 60_000
    web.done(flying)
    web.set_for("a.com", delay=10)
    web.offer("https://a.com/again")
    assert web.after(9.999) == []
    assert len(web.after(0.001)) == 1


def test_a_host_that_rests_keeps_its_clock_when_its_delay_grows():
    web = Driven()
    web.host("a.com", pages=1)
    web.done(web.after(1)[0])
    web.set_for("a.com", delay=60)
    web.now += 30_000
    web.frontier.registry.forget(web.now)
    assert "a.com" in web.frontier.registry.hosts
    web.now += 30_000
    web.frontier.registry.forget(web.now)
    assert not web.frontier.registry.hosts, "it is forgotten when the clock has run out"

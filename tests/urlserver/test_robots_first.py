"""robots.txt of an origin comes before its first page, holds until it expires, and is found through redirects."""

from __future__ import annotations

from support.frontier_driving import FREE, Driven, known, link
from weft.model.host import slot_of
from weft.urlserver.mgmt_messages import RobotsAnswer
from weft.urlserver.origin_robots import MOST_HASTY, MOST_LOST

RULES = known("User-agent: *\nDisallow: /private")


def begin(web: Driven, url: str = "https://a.com/robots.txt", doc_id: int = 900):
    """The control plane knows nothing, so robots.txt is opened; returns its fetch."""
    origin = url.removesuffix("/robots.txt")
    assert web.requests.take().read_robots == [origin]
    web.learn(robots_unknown=[origin])
    assert web.requests.take().open_robots == {origin: url}
    web.learn(robots_opened={origin: link(doc_id, url)})
    (fetch,) = web.due()
    assert fetch.url == url
    return fetch


def test_robots_txt_comes_first_and_the_rest_waits_behind_it():
    web = Driven()
    web.host("a.com", pages=3, robots=None)
    assert web.after(1) == []
    fetch = begin(web)
    assert web.after(100) == []
    web.done(fetch, status=200)
    assert web.requests.take().settle_robots == {"https://a.com": RobotsAnswer(200, 0)}
    assert web.after(100) == [], "its rules are not known yet"
    web.learn(robots_known={"https://a.com": FREE})
    assert [fetch.url for fetch in web.due()] == ["https://a.com/0"]


def test_a_remembered_robots_txt_is_not_fetched_again():
    web = Driven()
    web.host("a.com", robots=None)
    web.after(1)
    web.learn(robots_known={"https://a.com": FREE})
    assert not web.requests.open_robots
    assert [fetch.url for fetch in web.due()] == ["https://a.com/0"]


def test_each_origin_of_a_host_has_its_own():
    web = Driven()
    web.offer("https://a.com/1", "http://a.com/2")
    web.place("a.com")
    web.after(1)
    assert web.requests.take().read_robots == ["https://a.com"]
    web.learn(robots_known={"https://a.com": FREE})
    (fetch,) = web.due()
    web.done(fetch)
    assert web.after(1) == []
    assert web.requests.take().read_robots == ["http://a.com"]


def test_refused_links_are_errors_of_class_robots_and_cost_no_time():
    web = Driven()
    web.offer("https://a.com/private/1", "https://a.com/private/2", "https://a.com/public")
    web.place("a.com")
    web.after(1)
    web.learn(robots_known={"https://a.com": RULES})
    assert [fetch.url for fetch in web.due()] == ["https://a.com/public"]
    assert web.refused() == {1: "robots", 2: "robots"}


def test_an_expired_robots_txt_is_looked_for_again_before_the_next_page():
    web = Driven()
    web.host("a.com", robots=known("", expires=1_000_000 + 5000))
    (first,) = web.after(1)
    web.done(first)
    assert web.after(10) == []
    assert web.requests.take().read_robots == ["https://a.com"]
    web.learn(robots_known={"https://a.com": known("User-agent: *\nDisallow: /1")})
    assert [fetch.url for fetch in web.due()] == ["https://a.com/2"]


def test_a_crawl_delay_holds_from_the_moment_that_robots_txt_was_read():
    web = Driven(req_host_concurrent=3, spider_lag=0)
    web.host("a.com", robots=None)
    web.after(1)
    fetch = begin(web)
    web.now += 2000
    web.done(fetch)
    web.learn(robots_known={"https://a.com": known("User-agent: *\nCrawl-delay: 10")})
    assert web.after(9.999) == []
    assert len(web.after(0.001)) == 1


def test_a_redirect_is_an_ordinary_request_to_its_own_host():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    web.done(fetch, status=301, location="https://www.a.com/robots.txt")
    assert web.requests.take().open_robots == {"https://a.com": "https://www.a.com/robots.txt"}
    web.learn(robots_opened={"https://a.com": link(900, "https://www.a.com/robots.txt", claim=2)})
    requests = web.requests.take()
    assert requests.resolve == ["www.a.com"]
    assert requests.read_robots == ["https://www.a.com"], "it may have a Crawl-delay of its own"
    web.place("www.a.com", "192.0.2.7")
    web.learn(robots_unknown=["https://www.a.com"])
    (hop,) = web.due()
    assert (hop.ip, hop.url) == ("192.0.2.7", "https://www.a.com/robots.txt")
    web.done(hop, claim=2)
    assert web.requests.take().settle_robots == {"https://a.com": RobotsAnswer(200, 0)}


def test_relative_redirects_are_followed_and_nonsense_is_not():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    web.done(fetch, status=302, location="/other.txt")
    assert web.requests.take().open_robots == {"https://a.com": "https://a.com/other.txt"}
    web.learn(robots_opened={"https://a.com": link(900, "https://a.com/other.txt", claim=2)})
    (hop,) = web.after(1)
    web.done(hop, status=302, location="mailto:nobody", claim=2)
    assert web.requests.take().settle_robots == {"https://a.com": RobotsAnswer(302, 0)}


def test_the_sixth_redirect_is_not_followed():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    for hop in range(5):
        web.done(fetch, status=301, location="/robots.txt", claim=hop + 1)
        assert list(web.requests.take().open_robots) == ["https://a.com"]
        web.learn(robots_opened={"https://a.com": link(900, "https://a.com/robots.txt", claim=hop + 2)})
        (fetch,) = web.after(1)
    web.done(fetch, status=301, location="/robots.txt", claim=6)
    assert web.requests.take().settle_robots == {"https://a.com": RobotsAnswer(301, 0)}


def test_all_queues_waiting_for_one_host_without_a_queue_is_no_deadlock():
    web = Driven(queue_count=1)
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    web.done(fetch, status=301, location="https://b.com/robots.txt")
    web.requests.take()
    web.learn(robots_opened={"https://a.com": link(900, "https://b.com/robots.txt", claim=2)})
    web.place("b.com", "192.0.2.7")
    web.learn(robots_unknown=["https://b.com"])
    (hop,) = web.due()
    web.done(hop, status=404, claim=2)
    web.learn(robots_known={"https://a.com": FREE})
    assert [fetch.url for fetch in web.after(1)] == ["https://a.com/0"]


def test_a_robots_txt_that_is_lost_is_asked_for_again_under_the_rate_before_any_page():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    for claim in range(1, MOST_LOST):
        web.done(fetch, is_stored=False, claim=claim)
        requests = web.requests.take()
        assert requests.lose == [(fetch.doc_id, claim)], "the next spider must know"
        assert requests.open_robots == {"https://a.com": "https://a.com/robots.txt"}
        assert (requests.settle_robots, requests.defer) == ({}, {}), "nothing is known against the host"
        again = link(fetch.doc_id, "https://a.com/robots.txt", claim=claim + 1)
        web.learn(robots_opened={"https://a.com": again})
        assert web.after(0.999) == []
        (fetch,) = web.after(0.001)
        assert fetch.url == "https://a.com/robots.txt"
    web.done(fetch, claim=MOST_LOST)
    assert web.requests.take().settle_robots == {"https://a.com": RobotsAnswer(200, 0)}


def test_a_robots_txt_that_is_always_lost_ends_as_unreachable():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    for _ in range(MOST_LOST - 1):
        web.done(fetch, is_stored=False)
        web.requests.take()
        web.learn(robots_opened={"https://a.com": link(fetch.doc_id, "https://a.com/robots.txt")})
        (fetch,) = web.after(1)
    web.done(fetch, is_stored=False)
    requests = web.requests.take()
    assert requests.settle_robots == {"https://a.com": RobotsAnswer(0, 0)}
    assert requests.open_robots == {}


def test_a_redirects_target_that_is_lost_is_asked_for_again():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    web.done(fetch, status=302, location="/other.txt")
    web.requests.take()
    web.learn(robots_opened={"https://a.com": link(900, "https://a.com/other.txt", claim=2)})
    (hop,) = web.after(1)
    web.done(hop, is_stored=False, claim=2)
    assert web.requests.take().open_robots == {"https://a.com": "https://a.com/other.txt"}


def test_while_another_url_server_fetches_it_links_are_given_back():
    web = Driven()
    web.host("a.com", pages=2, robots=None)
    web.after(1)
    web.requests.take()
    web.learn(robots_unknown=["https://a.com"])
    web.requests.take()
    web.learn(robots_busy=["https://a.com"])
    assert web.requests.release == [1, 2]
    assert web.requests.defer == {"a.com": (web.now + 5000, "robots.txt elsewhere")}


def test_a_robots_txt_that_is_refused_for_haste_is_fetched_again_before_any_page():
    web = Driven(slot_patience=100, req_host_per_sec=100)
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    fetch = begin(web)
    for _ in range(MOST_HASTY - 1):
        web.done(fetch, status=429, retry_after=3000)
        requests = web.requests.take()
        assert requests.settle_robots == {}
        assert requests.open_robots == {"https://a.com": "https://a.com/robots.txt"}
        web.learn(robots_opened={"https://a.com": link(9, "https://a.com/robots.txt")})
        assert web.after(2.999) == []
        (fetch,) = web.after(0.001)
        assert fetch.url == "https://a.com/robots.txt"
    web.done(fetch, status=429, retry_after=3000)
    assert web.requests.take().settle_robots == {"https://a.com": RobotsAnswer(429, 3000)}


def test_a_robots_txt_that_another_url_server_gets_to_fetch_has_not_failed():
    web = Driven()
    web.host("a.com", pages=2, robots=None)
    web.after(1)
    web.requests.take()
    web.learn(robots_unknown=["https://a.com"])
    web.requests.take()
    web.learn(robots_opened={"https://a.com": link(900, "https://a.com/robots.txt")})
    web.frontier.own((), web.now)
    requests = web.requests.take()
    assert sorted(requests.release) == [1, 2, 900]
    assert not requests.settle_robots, "it was never asked for"
    assert requests.robots_given_back == ["https://a.com"]
    web.learn(robots_given_back=["https://a.com"])
    web.frontier.own(range(256), web.now)
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    begin(web, doc_id=901)


def test_an_answer_that_another_url_server_got_is_not_ours_to_settle():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    web.done(begin(web), status=301, location="https://a.com/robots/1", claim=2)
    requests = web.requests.take()
    assert not requests.settle_robots
    assert not requests.open_robots
    web.learn(robots_given_back=requests.robots_given_back)
    web.after(1)
    begin(web)


def test_a_redirect_to_an_address_of_another_url_server_is_not_followed_again_and_again():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    web.done(begin(web), status=301, location="https://b.com/robots.txt")
    assert web.requests.take().open_robots == {"https://a.com": "https://b.com/robots.txt"}
    web.learn(robots_opened={"https://a.com": link(901, "https://b.com/robots.txt")})
    web.frontier.own([slot_of("192.0.2.1")], web.now)
    web.place("b.com", "192.0.2.9")
    requests = web.requests.take()
    assert requests.release == [901]
    assert not requests.robots_given_back
    assert list(requests.settle_robots) == ["https://a.com"], "it has failed, and is tried again after a wait"


def test_a_host_that_moves_while_its_own_redirect_is_followed_has_not_failed():
    web = Driven()
    web.host("a.com", pages=1, robots=None)
    web.after(1)
    web.done(begin(web), status=301, location="https://a.com/robots/1")
    web.requests.take()
    web.learn(robots_opened={"https://a.com": link(900, "https://a.com/robots/1", claim=2)})
    web.frontier.own((), web.now)
    requests = web.requests.take()
    assert not requests.settle_robots
    assert requests.robots_given_back == ["https://a.com"]

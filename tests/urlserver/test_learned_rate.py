"""A host that says "slower" is asked more slowly, and again faster while it does not."""

from __future__ import annotations

from typing import Any

import pytest

from support.frontier_driving import Driven
from weft.urlserver.hosts import Host

LATENCY = 0.008


def web_of(pages: int = 400, **settings: Any) -> Driven:
    given = {"req_host_per_sec": 10, "req_ip_per_sec": 1000, "spider_lag": 0, "slot_patience": 60, "queue_len": 100_000}
    web = Driven(**{**given, "max_per_ip": 100_000, **settings})
    web.host("a.com", pages=pages)
    return web


def host_of(web: Driven) -> Host:
    return web.frontier.registry.hosts["a.com"]


def next_fetch(web: Driven) -> Any:
    """The host's next URL, as soon as it may be sent."""
    while not (sent := web.due()):
        moment = web.frontier.next_moment(may_send=True)
        assert moment is not None
        web.now = max(web.now + 1, moment)
    return sent[0]


def answer(web: Driven, status: int = 200, **outcome: Any) -> None:
    fetch = next_fetch(web)
    web.now += round(LATENCY * 1000)
    web.done(fetch, status=status, **outcome)


@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_halves_the_rate_and_twenty_clean_answers_raise_it(status: int) -> None:
    web = web_of()
    answer(web, status, retry_after=3000)
    assert (host_of(web).rate, host_of(web).learned_gap) == (5000, 200)
    assert web.requests.rates == {"a.com": 5000}, "for whoever asks this host next"
    for _ in range(19):
        answer(web)
    assert host_of(web).rate == 5000
    answer(web, status=404)
    assert host_of(web).rate == 5500
    assert web.requests.rates == {"a.com": 5500}


def test_a_rate_of_the_site_is_the_one_that_is_halved() -> None:
    web = web_of()
    web.set_for("a.com", rate=4)
    answer(web, 429, retry_after=1000)
    assert (host_of(web).rate, host_of(web).learned_gap) == (2000, 500)
    assert web.frontier.registry.politeness.gap(host_of(web)) == 500
    for _ in range(20):
        answer(web)
    assert host_of(web).rate == 2200


def test_the_rate_never_exceeds_the_setting() -> None:
    web = web_of(pages=900)
    answer(web, 429, retry_after=1000)
    for _ in range(800):
        answer(web)
    assert (host_of(web).rate, host_of(web).learned_gap) == (0, 0)
    assert web.requests.rates == {"a.com": 0}, "nothing is learned any more"


def test_however_often_it_refuses_a_host_is_asked_once_a_minute() -> None:
    web = web_of(host_failures=100, backoff_first=0.01, backoff_max=0.01)
    for _ in range(30):
        answer(web, 503)
    assert host_of(web).learned_gap == pytest.approx(60_000, rel=0.05)


def test_requests_that_were_refused_together_halve_the_rate_once() -> None:
    web = web_of(req_host_concurrent=4)
    together = [next_fetch(web) for _ in range(4)]
    for fetch in together:
        web.done(fetch, status=429, retry_after=3000)
    assert host_of(web).rate == 5000
    assert host_of(web).failures == 1


def test_other_failures_do_not_change_the_rate() -> None:
    web = web_of()
    for outcome in ({"status": 502}, {"error": "timeout"}, {"status": 200, "retry_after": 2000}):
        answer(web, **outcome)
    assert (host_of(web).rate, web.requests.rates) == (0, {})


def test_a_host_that_refuses_after_every_wait_it_asked_for_waits_longer() -> None:
    web = web_of(backoff_first=5, slot_patience=10_000, host_failures=100)
    waits = []
    for _ in range(7):
        answer(web, 429, retry_after=3000)
        waits.append((host_of(web).wait_until - web.now) / 1000)
    assert waits == [3, 3, 3, 3, 3, 160, 320]


def test_what_was_learned_before_is_remembered_and_the_setting_still_bounds_it() -> None:
    web = Driven(req_host_per_sec=10)
    web.offer("https://a.com/", "https://b.com/")
    web.place("a.com", rate=2500)
    web.place("b.com", rate=20_000)
    hosts = web.frontier.registry.hosts
    assert [hosts[name].learned_gap for name in ("a.com", "b.com")] == [400, 0]
    hosts["a.com"].expires = 0
    web.place("a.com", rate=9000)
    assert hosts["a.com"].learned_gap == 400, "what is stored is older than what is known"


class TokenBucket:
    def __init__(self, per_second: float, burst: float) -> None:
        self._rate, self._most, self._tokens, self._at = per_second / 1000, burst, burst, 0

    def allows(self, now: int) -> bool:
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


@pytest.mark.parametrize("burst", [1, 10])
@pytest.mark.parametrize("retry_after", [0, 3000])
def test_it_settles_near_the_limit_of_a_token_bucket_with_few_refusals(burst: int, retry_after: int) -> None:
    web, bucket, refusals = web_of(pages=3000), TokenBucket(5, burst), 0
    for _ in range(500):
        _ask(web, bucket, retry_after)
    began = web.now
    for _ in range(2000):
        refusals += not _ask(web, bucket, retry_after)
    assert 4.0 < (2000 - refusals) / (web.now - began) * 1000 <= 5.0
    assert refusals <= 20


def _ask(web: Driven, bucket: TokenBucket, retry_after: int) -> bool:
    fetch = next_fetch(web)
    is_allowed = bucket.allows(web.now)
    web.now += round(LATENCY * 1000)
    web.done(fetch, status=200 if is_allowed else 503, retry_after=0 if is_allowed else retry_after)
    return is_allowed

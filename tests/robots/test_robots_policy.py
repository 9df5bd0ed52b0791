"""What the outcome of fetching robots.txt means, and until when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.robots.policy import FIRST_RETRY, LONGEST, SHORTEST, good_until, is_reachable, policy

BODY = b"User-agent: *\nDisallow: /a\nCrawl-delay: 2\n"
HOUR = 3_600_000


@pytest.mark.parametrize("status", [200, 203, 206])
def test_an_answer_with_a_file_is_read(status: int) -> None:
    rules = policy(status, BODY, "weft")
    assert not rules.decide("/a").allowed
    assert rules.decide("/b").allowed
    assert rules.crawl_delay == 2


@pytest.mark.parametrize("status", [301, 308, 400, 401, 403, 404, 410, 418, 451, 499])
def test_without_a_file_everything_is_allowed(status: int) -> None:
    rules = policy(status, BODY, "weft")
    assert rules.decide("/a").allowed
    assert rules.crawl_delay is None


@pytest.mark.parametrize("status", [0, 100, 429, 500, 502, 503, 599, 600])
def test_without_an_answer_everything_is_refused_and_the_reason_told(status: int) -> None:
    decision = policy(status, BODY, "weft").decide("/b")
    assert not decision.allowed
    assert decision.line_number is None
    assert (str(status) in decision.line_text) if status else (decision.line_text == "robots.txt could not be fetched")
    assert policy(status, BODY, "weft").decide("/robots.txt").allowed


def test_the_limit_is_passed_on() -> None:
    assert policy(200, BODY, "weft", limit=20).decide("/a").allowed


@pytest.mark.parametrize(
    ("max_age", "milliseconds"),
    [(None, LONGEST), (0, SHORTEST), (-5, SHORTEST), (7200, 2 * HOUR), (86_400, LONGEST), (1e300, LONGEST)],
)
def test_cache_control_shortens_within_bounds(max_age: float | None, milliseconds: int) -> None:
    assert good_until(200, 1000, max_age=max_age) == 1000 + milliseconds
    assert good_until(404, 1000, max_age=max_age) == 1000 + milliseconds


def test_an_unreachable_file_is_asked_for_less_and_less_often() -> None:
    waits = [good_until(503, 0, failures=failures) for failures in range(20)]
    assert waits[:3] == [FIRST_RETRY, 2 * FIRST_RETRY, 4 * FIRST_RETRY]
    assert waits[-1] == LONGEST
    assert good_until(0, 0, max_age=1) == FIRST_RETRY


def test_retry_after_is_waited_for() -> None:
    assert good_until(429, 0, retry_after=2 * HOUR) == 2 * HOUR
    assert good_until(503, 0, retry_after=1) == FIRST_RETRY
    assert good_until(503, 0, retry_after=100 * HOUR) == LONGEST


@given(st.integers(0, 700), st.none() | st.floats(allow_nan=False), st.integers(0, 10**12), st.integers(0, 10**6))
def test_nothing_holds_longer_than_a_day(status: int, max_age: float | None, retry_after: int, failures: int) -> None:
    until = good_until(status, 5, max_age=max_age, retry_after=retry_after, failures=failures)
    assert 5 + (SHORTEST if is_reachable(status) else FIRST_RETRY) <= until <= 5 + LONGEST

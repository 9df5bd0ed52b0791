"""How often one client may ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.web_app import running_app
from weft.web import rate_limit
from weft.web.rate_limit import RateLimit


def burst(limit: RateLimit, client: str, now: float) -> int:
    """How many requests may come at once."""
    return next(count for count in range(1000) if limit.wait(client, now))


def test_a_client_may_ask_in_bursts_and_on_average_at_the_rate() -> None:
    limit = RateLimit(5.0)
    assert burst(limit, "192.0.2.1", 0.0) == 20
    assert 0 < limit.wait("192.0.2.1", 0.0) <= 0.2
    assert burst(limit, "192.0.2.1", 1.0) == 5
    assert burst(limit, "192.0.2.1", 1000.0) == 20, "what was not used does not add up"
    wait = limit.wait("192.0.2.1", 1000.0)
    assert not limit.wait("192.0.2.1", 1000.0 + wait), "the time that was told is enough"


def test_each_client_has_its_own_and_a_network_of_ipv6_is_one() -> None:
    limit = RateLimit(1.0)
    assert burst(limit, "192.0.2.1", 0.0) == 10
    assert burst(limit, "192.0.2.2", 0.0) == 10
    assert burst(limit, "2001:db8::1", 0.0) == 10
    assert burst(limit, "2001:db8::ffff:1", 0.0) == 0
    assert burst(limit, "2001:db8:0:1::1", 0.0) == 10
    assert burst(limit, "::ffff:192.0.2.3", 0.0) == 10
    assert burst(limit, "::ffff:192.0.2.4", 0.0) == 10, "addresses of IPv4 are not one network"
    assert burst(limit, "", 0.0) == 10


def test_a_slow_rate_still_lets_a_page_and_its_files_pass() -> None:
    assert burst(RateLimit(0.1), "192.0.2.1", 0.0) == 10


def test_clients_are_forgotten_so_that_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "_MOST_CLIENTS", 100)
    limit = RateLimit(1.0)
    burst(limit, "busy", 0.0)
    for number in range(1000):
        limit.wait(f"client{number}", 0.0)
        assert limit.wait("busy", 0.0), "whoever asks all the time is not forgotten"
    assert len(limit._buckets) == 100


def test_too_many_requests_are_told_when_to_come_back(small_home: Path) -> None:
    with running_app(small_home, rate=1.0) as app:
        found = [app.ask("/api/totals") for _ in range(40)]
        refused = [each for each in found if each.status == 429]
        assert {each.status for each in found} == {200, 429}
        assert all(int(each.headers["retry-after"]) >= 1 for each in refused)
        assert "web.rate" in refused[0].sentence
        assert "content-security-policy" in refused[0].headers
        assert app.ask("/static/weft.css").status == 200, "files of a page do not count"
        page = app.ask("/top", headers={"Accept": "text/html"})
        assert (page.status, page.kind) in {(429, "text/html"), (200, "text/html")}
        assert app.ask("/login", "POST", "token=x").status in (429, 403), "nor can tokens be guessed faster"

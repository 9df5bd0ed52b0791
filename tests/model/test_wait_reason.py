"""Why a host rests: short words for the control plane, a sentence for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.fetch_error import FetchError
from weft.model.wait_reason import REASON_MOST, ROBOTS_ELSEWHERE, wait_reason, wait_sentence


def span(seconds: float) -> str:
    return f"{seconds:g} s"


@pytest.mark.parametrize(
    ("facts", "reason", "sentence"),
    [
        ({"status": 502}, "status 502", "its server answered 502"),
        (
            {"status": 503, "retry_after": 119_500},
            "status 503 Retry-After 120",
            "its server answered 503 and asked for 120 s",
        ),
        ({"status": 503, "error": "timeout"}, "status 503", "its server answered 503"),
        ({"status": 200, "error": "timeout"}, "timeout", "its server did not answer in time"),
        ({"error": "connect"}, "connect", "its server accepts no connection"),
        ({"error": "dns"}, "dns", "its name could not be looked up"),
        ({"error": "x" * 2000}, "unknown", FetchError.UNKNOWN.sentence),
        (
            {"error": "tls_name", "is_robots": True},
            "robots.txt tls_name",
            "its robots.txt could not be had: its certificate is for another name",
        ),
    ],
)
def test_what_is_kept_and_what_people_read(facts: dict[str, object], reason: str, sentence: str) -> None:
    assert wait_reason(**facts) == reason  # type: ignore[arg-type]
    assert wait_sentence(reason, span) == sentence


def test_a_robots_txt_that_another_url_server_fetches_is_told() -> None:
    assert wait_sentence(ROBOTS_ELSEWHERE, span) == "another URL server fetches its robots.txt"


@pytest.mark.parametrize("reason", ["", "said by a newer weft", "status five", "status 503 Retry-After soon"])
def test_nothing_is_said_about_a_reason_that_is_not_known(reason: str) -> None:
    assert wait_sentence(reason, span) == ""


@given(st.integers(0, 999), st.text() | st.sampled_from(FetchError), st.integers(0, 10**15), st.booleans())
def test_every_reason_is_short_and_has_a_sentence(status: int, error: str, asked: int, is_robots: bool) -> None:
    reason = wait_reason(status, error, asked, is_robots=is_robots)
    assert len(reason) <= REASON_MOST
    assert wait_sentence(reason, span)

"""`weft page` says what a person would ask next about each state."""

from __future__ import annotations

from typing import Any

import pytest

from weft.answers.objects import PageAnswer
from weft.cli.page_words import page_facts
from weft.model.page_state import PageState

SINCE = "2026-01-30T12:00:00Z"


def told(state: PageState, **about: Any) -> dict[str, str]:
    known: dict[str, Any] = {
        "seq": 1,
        "uri": "com.a",
        "url": "https://a.com/",
        "domain": "a.com",
        "references": 1,
        "score": 1,
    }
    return dict(page_facts(PageAnswer(**known, crawled=False, state=state, counting="all", **about)))


@pytest.mark.parametrize(
    ("state", "about", "words"),
    [
        (PageState.PAGE, {}, "page"),
        (PageState.FILE, {"type": "application/pdf", "bytes": 123_456}, "file (application/pdf, 123,456 bytes)"),
        (PageState.FILE, {"bytes": 0}, "file (0 bytes)"),
        (PageState.FILE, {}, "file"),
        (PageState.REDIRECT, {"redirect": "https://b.com/"}, "redirect to https://b.com/"),
        (PageState.REDIRECT, {}, "redirect"),
        (PageState.GONE, {"status": 410}, "gone (status 410)"),
        (PageState.GONE, {}, "gone"),
        (
            PageState.FAILING,
            {"status": 503, "failing_since": SINCE, "failures": 3, "reason": "x"},
            f"failing: status 503, since {SINCE}, 3 tries",
        ),
        (
            PageState.FAILING,
            {"failing_since": SINCE, "failures": 1, "reason": "its server did not answer in time"},
            f"failing: its server did not answer in time, since {SINCE}",
        ),
        (PageState.REFUSED, {"reason": "depth: 5 hops, over 4"}, "refused: depth: 5 hops, over 4"),
        (PageState.NOT_FETCHED, {}, "not fetched yet"),
    ],
)
def test_the_state_in_words(state: PageState, about: dict[str, Any], words: str) -> None:
    assert told(state, **about)["state"] == words


def test_a_page_that_was_cut_is_told_so() -> None:
    assert told(PageState.PAGE, left_out=225)["left_out"] == (
        "225 more links do not count: the page has too many (limits.page_targets, limits.page_link_bytes)"
    )
    assert "left_out" not in told(PageState.PAGE)


def test_what_is_not_known_is_left_out() -> None:
    assert list(told(PageState.NOT_FETCHED)) == [
        *("seq", "uri", "url", "domain", "state", "crawled", "references", "score", "counting")
    ]

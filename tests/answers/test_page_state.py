"""Each way a fetch can end gives the page one state that people understand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from weft.answers.page_facts import facts_of
from weft.answers.page_state import state_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import LinkRecord
from weft.linkindex.records import DocFacts
from weft.model.fetch_error import FetchError
from weft.model.page_state import PageState
from weft.model.refusal import Refusal, RefusalKind

NEW = LinkRecord(url="https://a.com/x", discovered=1)
NOW = 1_770_000_000_000


def fetched(kind: FetchKind, status: int, **about: Any) -> LinkRecord:
    return after_fetch(NEW, Fetched(kind=kind, at=NOW, status=status, **about), DispatcherSettings())


def state(record: LinkRecord | None, *, is_loaded: bool = False, **facts: Any) -> PageState:
    return state_of(record, DocFacts(**facts), is_loaded=is_loaded, is_deleted=bool(facts))


@pytest.mark.parametrize("record", [None, fetched(FetchKind.OTHER, 200)], ids=["imported", "crawled"])
@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"status": 301, "location": "https://a.com/y"}, PageState.REDIRECT),
        ({"status": 308}, PageState.REDIRECT),
        ({"status": 404}, PageState.GONE),
        ({"status": 410}, PageState.GONE),
        ({"status": 200, "type": "application/pdf", "bytes": 0}, PageState.FILE),
        ({"status": 203}, PageState.FILE),
    ],
)
def test_what_was_found_in_place_of_a_page(
    record: LinkRecord | None, facts: dict[str, Any], expected: PageState
) -> None:
    assert state(record, **facts) is expected


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (fetched(FetchKind.FAILED, 503), PageState.FAILING),
        (fetched(FetchKind.FAILED, 0, error=FetchError.TLS), PageState.FAILING),
        (fetched(FetchKind.FAILED, 0, error=FetchError.ROBOTS), PageState.REFUSED),
        (fetched(FetchKind.FAILED, 0, error=FetchError.PORT), PageState.REFUSED),
        (NEW.hide(Refusal(RefusalKind.DEPTH, "5 hops, over 4")), PageState.REFUSED),
        (fetched(FetchKind.PAGE, 200).hide(Refusal(RefusalKind.EXCLUDED, "site a.com")), PageState.REFUSED),
    ],
)
def test_what_fetching_comes_to_now_goes_before_what_is_in_the_index(record: LinkRecord, expected: PageState) -> None:
    assert state(record) is expected
    assert state(record, status=404) is expected
    assert state(record, is_loaded=True) is expected


@pytest.mark.parametrize(
    "record", [None, NEW, fetched(FetchKind.SELF_REDIRECT, 301, location="https://a.com/x")], ids=str
)
def test_what_is_loaded_is_a_page_and_the_rest_is_not_fetched_yet(record: LinkRecord | None) -> None:
    assert state(record, is_loaded=True) is PageState.PAGE
    assert state(record) is PageState.NOT_FETCHED


def test_what_an_import_deleted_is_gone() -> None:
    assert state_of(None, DocFacts(), is_loaded=False, is_deleted=True) is PageState.GONE


def test_failing_since_is_the_first_failure_in_a_row() -> None:
    settings = DispatcherSettings()
    record = fetched(FetchKind.FAILED, 503)
    for later in (1000, 2000):
        record = after_fetch(record, Fetched(kind=FetchKind.FAILED, at=NOW + later, status=500), settings)
    facts = facts_of(record, DocFacts(status=200, type="text/html"), is_loaded=True, is_deleted=False)
    assert (facts.failing_since, facts.failures, facts.status, facts.type) == (NOW, 3, 500, "text/html")
    assert facts.reason == FetchError.HTTP.sentence
    record = after_fetch(record, Fetched(kind=FetchKind.SAME, at=NOW + 3000, status=304), settings)
    facts = facts_of(record, DocFacts(status=200, type="text/html"), is_loaded=True, is_deleted=False)
    assert (facts.failing_since, facts.failures, facts.status, facts.reason) == (None, 0, 200, None)


def test_the_document_lists_every_state() -> None:
    text = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8").partition("## Page states")[2]
    assert re.findall(r"^\| ([a-z ]+) \| (?!meaning)", text, re.MULTILINE) == [str(state) for state in PageState]

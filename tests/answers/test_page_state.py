"""Each way a fetch can end gives the page one state that people understand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from weft.answers.page_state import state_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import LinkRecord
from weft.model.fetch_error import FetchError
from weft.model.page_state import PageState
from weft.model.refusal import Refusal, RefusalKind

NEW = LinkRecord(url="https://a.com/x", discovered=1)
NOW = 1_770_000_000_000


def fetched(kind: FetchKind, status: int, **about: Any) -> LinkRecord:
    return after_fetch(NEW, Fetched(kind=kind, at=NOW, status=status, **about), DispatcherSettings())


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (fetched(FetchKind.MOVED, 301, location="com.a/y"), PageState.REDIRECT),
        (fetched(FetchKind.GONE, 404), PageState.GONE),
        (fetched(FetchKind.GONE, 410), PageState.GONE),
        (fetched(FetchKind.OTHER, 200), PageState.FILE),
        (fetched(FetchKind.LISTING, 200), PageState.FILE),
        (fetched(FetchKind.FAILED, 503), PageState.FAILING),
        (fetched(FetchKind.FAILED, 0, error=FetchError.TLS), PageState.FAILING),
        (fetched(FetchKind.SELF_REDIRECT, 301, location="https://a.com/x"), PageState.NOT_FETCHED),
        (NEW, PageState.NOT_FETCHED),
        (NEW.hide(Refusal(RefusalKind.DEPTH, "5 hops, over 4")), PageState.REFUSED),
        (fetched(FetchKind.GONE, 404).hide(Refusal(RefusalKind.EXCLUDED, "site a.com")), PageState.REFUSED),
        (None, PageState.NOT_FETCHED),
    ],
)
def test_what_is_not_loaded(record: LinkRecord | None, state: PageState) -> None:
    assert state_of(record, is_loaded=False, is_deleted=False) is state


@pytest.mark.parametrize("record", [None, NEW, msgspec.structs.replace(NEW, failures=3, fetched=NOW)])
def test_what_is_loaded_is_a_page_whatever_happened_since(record: LinkRecord | None) -> None:
    assert state_of(record, is_loaded=True, is_deleted=False) is PageState.PAGE


def test_what_an_import_deleted_is_gone() -> None:
    assert state_of(None, is_loaded=False, is_deleted=True) is PageState.GONE


def test_the_document_lists_every_state() -> None:
    text = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8").partition("## Page states")[2]
    assert re.findall(r"^\| ([a-z ]+) \| (?!meaning)", text, re.MULTILINE) == [str(state) for state in PageState]

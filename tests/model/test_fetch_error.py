"""Every class of error tells all that others decide by, and a stored one is read by any version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.config import KEYS
from weft.model.fetch_error import Fault, FetchError

DOCUMENT = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8")
DAY = 24 * 3_600_000


@pytest.mark.parametrize("error", FetchError)
def test_it_has_a_clause_for_people_whose_settings_exist(error: FetchError) -> None:
    assert re.fullmatch(r"[a-z].*[^.]", error.sentence)
    named = re.findall(r"\((\w+\.\w+)\)", error.sentence)
    assert [key for key in named if key not in KEYS] == []


def test_the_host_is_left_alone_only_for_what_its_server_did() -> None:
    servers = {error for error in FetchError if error.fault is Fault.SERVER}
    tls = {FetchError.TLS, FetchError.TLS_EXPIRED, FetchError.TLS_AUTHORITY, FetchError.TLS_NAME}
    assert servers == {FetchError.CONNECT, FetchError.NETWORK, FetchError.TIMEOUT, FetchError.BUSY, *tls}


def test_what_is_the_hosts_is_replaced_from_another_host() -> None:
    of_hosts = [error for error in FetchError if error.fault in (Fault.SERVER, Fault.ADDRESS)]
    assert all(error.replaced_from_elsewhere for error in of_hosts)


@given(st.sampled_from(FetchError), st.integers(1, 1000), st.integers(0, 60 * DAY))
def test_waits_double_up_to_a_month_and_never_fall_below_what_the_server_asked(
    error: FetchError, failures: int, asked: int
) -> None:
    wait = error.wait(failures, asked)
    assert wait >= asked
    assert wait <= max(asked, 30 * DAY)
    first = 2 if error.retries_at_once else 1
    assert error.wait(first) == error.first_wait
    assert error.wait(failures + first) in (2 * error.wait(failures + first - 1), 30 * DAY)


def test_a_page_whose_record_was_lost_is_due_at_once_but_not_again_and_again() -> None:
    assert [FetchError.ARCHIVE.wait(failures) // 3_600_000 for failures in range(1, 6)] == [0, 1, 2, 4, 8]
    assert [error for error in FetchError if error.retries_at_once] == [FetchError.ARCHIVE]


@given(st.text())
def test_any_stored_text_is_a_class(stored: str) -> None:
    assert FetchError.of(stored) == (stored if stored in set(FetchError) else FetchError.UNKNOWN)


def test_the_document_lists_every_class_as_it_is() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]+) \| (\w+) \| ([^|]+) \|$", DOCUMENT, re.MULTILINE)
    assert rows == [row_of(error) for error in FetchError]


def row_of(error: FetchError) -> tuple[str, ...]:
    seconds = error.first_wait // 1000
    unit, name = next((n, word) for n, word in ((86400, "day"), (3600, "hour"), (60, "minute")) if seconds >= n)
    wait = f"{seconds // unit} {name}{'s' if seconds > unit else ''}"
    wait = f"none, then {wait}" if error.retries_at_once else wait
    host = "another" if error.replaced_from_elsewhere else "same"
    return str(error), error.fault.name.lower(), wait, host, error.sentence

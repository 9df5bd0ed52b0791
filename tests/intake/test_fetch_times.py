from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.intake.fetch_times import milliseconds_of_date
from weft.intake.skip_reasons import PageRefused, SkipReason


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-31T12:00:00Z", 1_769_860_800_000),
        ("2026-01-31T12:00:00.5Z", 1_769_860_800_500),
        ("2026-01-31T12:00:00.123456789Z", 1_769_860_800_123),
        ("2026-01-31T12:00Z", 1_769_860_800_000),
        ("2026-01-31", 1_769_817_600_000),
        ("2026-01", 1_767_225_600_000),
        ("2026", 1_767_225_600_000),
        ("2026-01-31T13:00:00+01:00", 1_769_860_800_000),
        ("20260131120000", 1_769_860_800_000),
        ("20260131120000250", 1_769_860_800_250),
    ],
)
def test_the_dates_of_archives_are_understood(text, milliseconds):
    assert milliseconds_of_date(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    ["yesterday", "2026-13-01", "2026-01-31T12:00:00", "1969-12-31T23:59:59Z", "20261331120000", "٢٠٢٦", " 2026", ""],
)
def test_what_is_no_date_is_refused(text):
    with pytest.raises(PageRefused) as refused:
        milliseconds_of_date(text)
    assert refused.value.reason is SkipReason.TIME


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants it so
def test_every_moment_is_found_again(at):
    expected = int(at.timestamp()) * 1000 + at.microsecond // 1000
    assert milliseconds_of_date(f"{at:%Y-%m-%dT%H:%M:%S.%f}Z".zfill(27)) == expected
    assert milliseconds_of_date(f"{at:%Y%m%d%H%M%S}".zfill(14)) == expected // 1000 * 1000

"""Flags of `weft crawl` that are settings of sites: what they mean, and what is said of bad ones."""

from __future__ import annotations

from typing import Any

import pytest

from weft.actions.settings_warnings import settings_warnings
from weft.cli.site_flags import secret_headers, settings_of
from weft.config import Settings
from weft.errors import UsageError
from weft.model.site import Site, SiteSettings

NOTHING: dict[str, Any] = {
    "depth": None, "include": (), "exclude": (), "types": (), "max_bytes": None, "rate": None, "headers": ()
}  # fmt: skip


def test_without_flags_nothing_is_set() -> None:
    assert settings_of(NOTHING) == {}


@pytest.mark.parametrize(
    ("flag", "settings"),
    [
        ({"depth": 0}, {"depth": 0}),
        ({"include": ("/a", "/b")}, {"include": ("/a", "/b")}),
        ({"types": ("HTML, pdf", "image/*")}, {"types": ("html", "pdf", "image/*")}),
        ({"max_bytes": "200000"}, {"max_bytes": 200_000}),
        ({"max_bytes": "5M"}, {"max_bytes": 5 << 20}),
        ({"max_bytes": "500 KiB"}, {"max_bytes": 500 << 10}),
        ({"rate": 0.5}, {"rate": 0.5}),
        ({"headers": ("X-Key: a:b", "Accept-Language:de")}, {"headers": {"X-Key": "a:b", "Accept-Language": "de"}}),
    ],
)
def test_a_flag_becomes_a_setting(flag: dict[str, Any], settings: dict[str, object]) -> None:
    assert settings_of(NOTHING | flag) == settings


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ({"include": ("(",)}, "--include: '(' is no pattern"),
        ({"types": ("htm",)}, "--types: 'htm' is no type; expected one of html"),
        ({"max_bytes": "5X"}, "--max-bytes 5X: expected a number of bytes"),
        ({"max_bytes": "0"}, "--max-bytes: expected 1 byte or more, found 0"),
        ({"rate": 0.0}, "--rate: expected 0.0001 to 100000 requests per second, found 0"),
        ({"rate": float("nan")}, "--rate: expected 0.0001 to 100000 requests per second, found nan"),
        ({"headers": ("s3cret",)}, '--header: expected "Name: value"'),
        ({"headers": ("Host: s3cret",)}, "--header: 'Host' cannot be set for a site"),
        ({"headers": ("X: s3cret\nY: s3cret",)}, "--header: the value of X is not a line of printable ASCII"),
    ],
)
def test_a_bad_value_is_one_sentence_without_a_secret(flag: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        settings_of(NOTHING | flag)
    assert str(refused.value).startswith(sentence)
    assert "s3cret" not in str(refused.value)


def test_header_fields_that_may_hold_a_secret_are_named() -> None:
    settings = settings_of(NOTHING | {"headers": ("Accept-Language: de", "Authorization: Bearer s3cret", "X: y")})
    assert secret_headers(settings) == ["Authorization", "X"]


def test_rates_that_cannot_be_reached_are_told() -> None:
    from dataclasses import replace

    settings = Settings()
    fast = replace(settings, urlserver=replace(settings.urlserver, req_host_per_sec=20.0))
    assert settings_warnings(settings, [Site(name="a.com")]) == []
    (sentence,) = settings_warnings(fast, [])
    assert sentence.startswith("urlserver.req_host_per_sec (20) is above urlserver.req_ip_per_sec (8), which holds")
    (sentence,) = settings_warnings(settings, [Site(name="a.com", settings=SiteSettings(rate=9.0))])
    assert sentence.startswith("the rate of a.com (9) is above urlserver.req_ip_per_sec (8)")


def test_a_size_above_that_of_all_sites_is_told() -> None:
    (sentence,) = settings_warnings(Settings(), [Site(name="a.com", settings=SiteSettings(max_bytes=11 << 20))])
    assert sentence.startswith("max_bytes of a.com (11534336) is above spider.max_body (10485760), which holds")

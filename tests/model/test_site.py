"""Settings of sites: declared once, checked when they come in, read back by any version, secrets never shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.model.site import (
    NO_CREDENTIALS,
    SITE_KEYS,
    Affects,
    SiteSettings,
    checked,
    kind_words,
    read_settings,
    settings_for,
)

DOCUMENT = (Path(__file__).parents[2] / "docs/commands.md").read_text(encoding="utf-8")
SECTION = DOCUMENT.partition("## weft sites")[2].partition("\n## ")[0]

GOOD: dict[str, Any] = {
    "depth": 3,
    "budget": 1000,
    "include": ("/docs/",),
    "exclude": (r"\?sort=", r"\.zip$"),
    "types": ("html", "pdf", "image/*"),
    "priority": -1,
    "rate": 0.5,
    "concurrent": 2,
    "delay": 2.5,
    "recrawl": 3600.0,
    "keep_parameters": ("id",),
    "drop_parameters": ("utm*",),
    "max_bytes": 1_000_000,
    "headers": {"X-Key": "s3cret"},
    "auth": "me:hidden",
    "proxy": "socks5://127.0.0.1:1080",
    "ca": "corporate.pem",
    "verify": False,
    "local": True,
}
some_settings = st.fixed_dictionaries({}, optional={name: st.just(value) for name, value in GOOD.items()}).map(
    lambda some: SiteSettings(**some)
)


def test_every_key_is_tried_here() -> None:
    assert GOOD.keys() == SITE_KEYS.keys()


@pytest.mark.parametrize(("name", "value"), GOOD.items())
def test_a_good_value_is_held_as_it_is(name: str, value: object) -> None:
    assert checked(name, value) == value


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("depth", "three", "depth: expected an integer, found 'three'"),
        ("depth", True, "depth: expected an integer, found True"),
        ("budget", -1, "budget: expected 0 or more, found -1"),
        ("delay", "long", "delay: expected a number, found 'long'"),
        ("delay", -0.1, "delay: expected 0 to 86400 seconds, found -0.1"),
        ("delay", 86_401, "delay: expected 0 to 86400 seconds, found 86401"),
        ("delay", float("nan"), "delay: expected 0 to 86400 seconds, found nan"),
        ("rate", 0, "rate: expected 0.0001 to 100000 requests per second, found 0"),
        ("rate", float("nan"), "rate: expected 0.0001 to 100000 requests per second, found nan"),
        ("concurrent", 0, "concurrent: expected 1 to 1000 requests, found 0"),
        ("recrawl", -1, "recrawl: expected 0 to 315360000 seconds, found -1"),
        ("max_bytes", 0, "max_bytes: expected 1 byte or more, found 0"),
        ("types", ["htm"], "types: 'htm' is no type; expected one of html, pdf, …"),
        ("include", "/docs/", "include: expected a list of texts, found '/docs/'"),
        ("exclude", ["("], "exclude: '(' is no pattern: missing ), unterminated subpattern at position 0; expected …"),
        ("headers", {"Host": "b.com"}, "headers: 'Host' cannot be set for a site"),
        ("headers", {"X": "a\r\nY: b"}, "headers: the value of X is not a line of printable ASCII"),
        ("headers", ["X: s3cret"], "headers: expected a table, found something else"),
        ("auth", 5, "auth: expected text, found something else"),
        ("auth", "nocolon", 'auth: expected "user:password"'),
        ("proxy", "ftp://x", "proxy: expected a URL with the scheme http, https, socks5 or socks5h"),
        ("verify", "no", "verify: expected true or false, found 'no'"),
        ("dept", 3, "dept is no setting of a site; expected one of depth, budget, …"),
    ],
)
def test_a_bad_value_is_refused_in_one_sentence(name: str, value: object, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        SiteSettings().with_setting(name, value)
    assert str(refused.value).startswith(sentence.removesuffix("…"))


@given(some_settings)
def test_settings_survive_being_stored(settings: SiteSettings) -> None:
    assert read_settings(msgspec.json.encode(settings).decode()) == settings


@given(some_settings)
def test_what_is_not_set_is_not_stored(settings: SiteSettings) -> None:
    assert msgspec.json.decode(msgspec.json.encode(settings)).keys() == settings.values().keys()


def test_what_another_version_set_is_left_out_and_the_rest_is_kept() -> None:
    assert read_settings('{"depth": "deep", "colour": 3, "budget": 7}') == SiteSettings(budget=7)


@given(some_settings)
def test_secrets_are_never_shown(settings: SiteSettings) -> None:
    for text in (repr(settings), str(settings), str(settings.shown())):
        assert "s3cret" not in text
        assert "hidden" not in text
        assert "socks5" not in text


@given(some_settings)
def test_taking_everything_back_leaves_nothing(settings: SiteSettings) -> None:
    for name in settings.values():
        settings = settings.with_setting(name, None)
    assert settings == SiteSettings()


@given(some_settings, some_settings, some_settings)
def test_the_narrowest_site_wins_setting_by_setting(one: SiteSettings, two: SiteSettings, three: SiteSettings) -> None:
    sites = {"a.com": one, "www.a.com": two, "www.a.com:81": three, "b.com": SiteSettings(depth=99)}
    assert settings_for("www.a.com:81", sites).values() == {**one.values(), **two.values(), **three.values()}
    assert settings_for("www.a.com", sites).values() == {**one.values(), **two.values()}
    assert settings_for("c.com", sites) == SiteSettings()


@given(some_settings)
def test_what_is_set_for_any_site_holds_everywhere_but_its_secrets_do_not(settings: SiteSettings) -> None:
    found = settings_for("c.com", {"*": settings})
    assert found.values().keys() == {name for name in settings.values() if not SITE_KEYS[name].is_secret}


def test_only_what_decides_about_links_has_them_reconsidered() -> None:
    assert SiteSettings(**GOOD).of(Affects.SCOPE) == (
        3,
        1000,
        ("/docs/",),
        (r"\?sort=", r"\.zip$"),
        ("html", "pdf", "image/*"),
    )


def test_the_document_lists_every_key() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", SECTION, re.MULTILINE)
    assert rows == [(name, kind_words(name), key.meaning) for name, key in SITE_KEYS.items()]


def test_a_host_without_credentials_gets_none_from_its_domain_but_everything_else() -> None:
    domain = SiteSettings(auth="me:hidden", headers={"X-Key": "s3cret"}, verify=False)
    merged = settings_for("www.a.com", {"a.com": domain, "www.a.com": NO_CREDENTIALS})
    assert not merged.has_credentials
    assert merged.verify is False
    assert merged.problem(Affects.FETCH) == ""
    assert msgspec.json.decode(msgspec.json.encode(NO_CREDENTIALS), type=SiteSettings) == NO_CREDENTIALS
    assert NO_CREDENTIALS.shown() == {"headers": {}, "auth": ""}

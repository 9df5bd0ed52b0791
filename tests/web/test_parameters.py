"""Every parameter of every question and page, given in every wrong way: a sentence, and never a fault of ours."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from msgspec.structs import fields

from support.web_app import HUB, RunningApp
from weft.web.api import ENDPOINTS
from weft.web.changes import CHANGES
from weft.web.pages.catalogue import PAGES

GOOD = {"url": HUB, "q": "weft", "domain": "s1.example", "of": HUB}
WRONG = {
    "empty": "",
    "huge": "x" * 20_000,
    "long": "9" * 5000,
    "negative": "-1",
    "zero": "0",
    "a float": "1.5",
    "infinite": "1e999",
    "not a number": "nan",
    "a word": "word",
    "null": "null",
    "true": "true",
    "json": '{"a": [1]}',
    "brackets": "[[[[[[",
    "quotes": "\"'`",
    "nul": "a\x00b",
    "controls": "a\x01\x1b[31m\x7f\x85b",
    "line breaks": "a\r\nSet-Cookie: b=c",
    "bidi": "\u202eabc\u2066",
    "other digits": "١٢",
    "emoji": "\U0001f600" * 10,
    "percent": "%25%00%zz",
    "path": "../../etc/passwd",
    "script": "<script>alert(1)</script>",
    "sql": "' OR 1=1; --",
    "formula": "=1+1",
    "scheme": "javascript:alert(1)",
    "ipv6": "http://[::1/",
    "port": "http://a.example:99999999/",
    "userinfo": "http://a:b@hub.example/",
    "idn": "http://xn--a.example/",
    "dots": "...",
    "long label": "a" * 64 + ".example",
    "date before Christ": "0001-01-01",
    "date without end": "9999-12-31T23:59:59Z",
    "age": "99999999999d",
    "operators": '-"" OR OR ( site: lang:xx AND',
}
RAW = ("%ff", "%ff%fe%00", "%ED%A0%80", "%c0%af", "%", "%zz", "+", "a&b=c", ";", "%F5%80%80%80")


def paths() -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Of all questions and pages: the address, the names of its parameters, and what it needs at least."""
    asked = {each.path: each.params for each in ENDPOINTS} | {page.path: page.twin.params for page in PAGES}
    return [
        (path, kind.__struct_fields__, {f.name: GOOD.get(f.name, "x") for f in fields(kind) if f.required})
        for path, kind in sorted(asked.items())
    ]


def address(path: str, params: dict[str, str]) -> str:
    """With the parameters that are in the path in their place."""
    query = dict(params)
    for name in [name for name in params if f"{{{name}}}" in path]:
        path = path.replace(f"{{{name}}}", quote(query.pop(name), safe="") or "x")
    return f"{path}?{urlencode(query)}" if query else path


CASES = [(path, name, needed) for path, names, needed in paths() for name in names]


def check(app: RunningApp, target: str, *allowed: int) -> None:
    answer = app.ask(target)
    assert answer.status in (allowed or (200, 303, 400, 404)), (target[:200], answer.status, answer.body[:300])
    if answer.status >= 400 and target.startswith("/api/"):
        assert len(answer.sentence) < 20_500
    assert b"Traceback" not in answer.body
    assert answer.headers["content-security-policy"]


@pytest.mark.parametrize(("path", "name", "needed"), CASES, ids=lambda each: str(each)[:40])
def test_wrong_values_are_refused_with_a_sentence(
    app: RunningApp, path: str, name: str, needed: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for value in WRONG.values():
            check(app, address(path, {**needed, name: value}))
        for raw in RAW:
            target = address(path, {**needed, name: "RAW"}).replace("RAW", raw)
            check(app, target)
    assert caplog.records == []


@pytest.mark.parametrize(("path", "names", "needed"), paths(), ids=lambda each: str(each)[:40])
def test_parameters_that_are_missing_twice_there_or_unknown_are_refused(
    app: RunningApp, path: str, names: tuple[str, ...], needed: dict[str, str]
) -> None:
    good = address(path, needed)
    more = "&" if "?" in good else "?"
    in_query = [name for name in names if f"{{{name}}}" not in path]
    for name in in_query:
        check(app, f"{good}{more}{name}=1&{name}=1", 400)
    for unknown in ("unknown=1", "=1", "%00=1", "%ff=1", f"{'x' * 5000}=1", "Limit=1", "limit%00=1"):
        check(app, f"{good}{more}{unknown}", 400)
    for name in needed:
        if name in in_query:
            check(app, address(path, {each: value for each, value in needed.items() if each != name}), 400, 303)


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "1e4", "1.5", "9" * 30, "true", " 5", "٥", "0x5", "5\x00"])
def test_a_limit_is_a_number_within_bounds(app: RunningApp, limit: str) -> None:
    for endpoint in ENDPOINTS:
        if "limit" in endpoint.params.__struct_fields__:
            needed = {name: GOOD[name] for name in ("q", "url") if name in endpoint.params.__struct_fields__}
            answer = app.ask(address(endpoint.path, {**needed, "limit": limit}))
            assert answer.status == 400
            assert answer.sentence.startswith("limit: ")


# Bodies


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.path)
@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b'"text"',
        b"1",
        b"{",
        b"{]",
        b"nonsense",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"unknown": 1}',
        b'{"address": 5, "name": 5, "url": 5, "urls": 5, "seeds": 5}',
        b'{"address": "\\ud800", "name": "\\ud800", "url": "\\ud800"}',
        b'{"a": ' * 20_000,
        b"[" * 60_000,
        b'{"a": 1' + b"0" * 60_000 + b"}",
        b"\x00",
    ],
)
def test_a_body_that_is_not_as_expected_is_refused(app: RunningApp, token: str, change: Any, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    answer = app.ask(change.path, "POST", body[: 64 << 10], headers)
    assert answer.status == 400
    assert answer.sentence


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "\xff"])
def test_a_change_is_json_and_nothing_that_a_form_of_another_site_can_send(
    app: RunningApp, token: str, kind: str
) -> None:
    headers = {"Content-Type": kind, "Authorization": f"Bearer {token}"}
    assert app.ask("/api/retry", "POST", b"{}", headers).status == 415


@pytest.mark.parametrize("address", ["nobody:1", "a\x00b", "\udfff", "x" * 301, "<script>", "😀"])
def test_a_process_that_is_not_there_is_not_known(app: RunningApp, token: str, address: str) -> None:
    answer = app.change("/api/pause", {"address": address}, Authorization=f"Bearer {token}")
    assert answer.status in (400, 404)
    assert answer.sentence


def begun(app: RunningApp, query: str, mark: str = "") -> int:
    """The status of a stream, which may have no end."""
    with app.connected() as raw:
        head = f"GET /api/events?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: {mark}\r\n\r\n"
        raw.sendall(head.encode("latin-1"))
        return int(raw.recv(1 << 16).split(b" ", 2)[1])


def test_topics_and_marks_of_events_are_checked_before_a_stream_begins(app: RunningApp) -> None:
    for topics in ("x", "status,x", "", ",", "%00", "status,,changes", "x" * 10_000, "%ff"):
        assert begun(app, f"topics={topics}") == 400, topics
    for mark in ("x", "-1", "1.2.3", "9" * 40, "\xff"):
        assert begun(app, "topics=changes", mark) == 400, mark
    for query in ("", "topics=status", "topics=changes", "topics=status,changes", "topics=changes,status"):
        assert begun(app, query, "1") == 200, query

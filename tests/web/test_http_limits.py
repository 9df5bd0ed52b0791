"""Requests that are too large, too slow, broken or strange: answered or closed in time, and nothing is left behind."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.web_app import PATIENCE, RunningApp, running_app, until_closed
from weft.web.guard import MOST_BODY
from weft.web.head_limits import LimitedHttp
from weft.web.limits import WebLimits
from weft.web.security_headers import SECURITY_HEADERS

GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
HASTY = WebLimits(head_seconds=0.3, body_seconds=0.3, taking_seconds=0.5, keep_alive=1)


@pytest.fixture(scope="module")
def hasty_app(small_home: Path) -> Iterator[RunningApp]:
    with running_app(small_home, limits=HASTY) as running:
        yield running


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def has_security_headers(answer: bytes) -> bool:
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1").lower()
    return all(f"{name}: {value}".lower() in head for name, value in SECURITY_HEADERS.items())


# Size


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(app: RunningApp, token: str) -> None:
    head = f"POST /api/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    head += "Connection: close\r\nContent-Type: application/json\r\nContent-Length: "
    for length in (MOST_BODY + 1, 10**15, 10**17):
        answer = app.say(f"{head}{length}\r\n\r\n".encode())
        assert status(answer) == 413
        assert b"at most 65,536 bytes" in answer
    padded = b"{" + b" " * (MOST_BODY - 2) + b"}"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    assert app.ask("/api/retry", "POST", padded, headers).status == 200


@pytest.mark.parametrize(
    "length", ["x", "-1", "+5", "1e3", "0x10", " ", "1, 1", "١", "9" * 40, "5\r\nContent-Length: 6"]
)
def test_a_length_that_is_none_is_refused(app: RunningApp, length: str) -> None:
    raw = f"POST /api/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    assert status(app.say(raw.encode())) in (400, 413)


@pytest.mark.parametrize("encoding", ["chunked", "gzip, chunked", "identity", "chunked\r\nContent-Length: 3"])
def test_a_body_without_a_length_is_refused(app: RunningApp, encoding: str) -> None:
    raw = f"POST /api/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nTransfer-Encoding: {encoding}\r\n\r\n"
    answer = app.say(raw.encode() + b"3\r\n{}\n\r\n0\r\n\r\n")
    assert status(answer) in (400, 411)
    assert answer.count(b"HTTP/1.1 ") == 1, "what follows is no request"


@pytest.mark.parametrize(
    "head",
    [
        GET + b"X: " + b"x" * (64 << 10) + b"\r\n\r\n",
        GET + b"x: y\r\n" * 12_000 + b"\r\n",
        b"GET /api/search?q=" + b"x" * (64 << 10) + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"G" * (65 << 10),
    ],
)
def test_a_head_that_is_too_large_is_refused(app: RunningApp, head: bytes) -> None:
    with app.connected() as raw:
        raw.settimeout(PATIENCE)
        try:
            for at in range(0, len(head), 8192):
                raw.sendall(head[at : at + 8192])
        except ConnectionError:
            pass
        answer = until_closed(raw)
    if answer:  # the rest of what was sent may have broken the connection off before the answer was read
        assert status(answer) in (400, 431)
        assert has_security_headers(answer)


def test_a_large_head_within_the_limit_is_answered(app: RunningApp) -> None:
    assert status(app.say(LAST[:-2] + b"X: " + b"x" * (60 << 10) + b"\r\n\r\n")) == 200


# Time


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b""),
        (b"G", b""),
        (b"GET /healthz HTTP/1.1\r\n", b"x: y\r\n"),
        (b"\r\n", b"\r\n"),
        (LAST.replace(b"close", b"keep-alive"), b"\r\n"),
        (LAST.replace(b"close", b"keep-alive"), b"GET / HTTP/1.1\r\nX: y"),
    ],
)
def test_a_head_that_comes_too_slowly_ends_the_connection(hasty_app: RunningApp, first: bytes, then: bytes) -> None:
    with hasty_app.connected() as raw:
        raw.sendall(first)
        if first.endswith(b"\r\n\r\n"):
            assert status(raw.recv(1 << 16)) == 200
        raw.settimeout(0.1)
        until = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < until, "it is still open"
            try:
                if then:
                    raw.sendall(then[:2])
                if not raw.recv(1 << 16):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break


def test_a_body_that_comes_too_slowly_ends_the_connection_without_a_word_in_the_log(
    hasty_app: RunningApp, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"POST /api/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    with caplog.at_level(logging.INFO):
        with hasty_app.connected() as raw:
            raw.sendall(head.encode())
            assert until_closed(raw) == b""
        with hasty_app.connected() as raw:
            raw.sendall(head.encode())
        assert hasty_app.ask("/healthz").status == 200
    assert [record for record in caplog.records if record.name.startswith(("weft", "uvicorn"))] == []


def test_whoever_does_not_take_an_answer_is_dropped(
    small_home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_dropped = threading.Event()
    drop = LimitedHttp._drop

    def told(http: LimitedHttp) -> None:
        drop(http)
        is_dropped.set()

    monkeypatch.setattr(LimitedHttp, "_drop", told)
    with running_app(small_home, limits=WebLimits(taking_seconds=0.3)) as app, app.connected() as raw:
        raw.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000 + LAST)
        assert is_dropped.wait(PATIENCE), "it is still waited for"
        answers = until_closed(raw)
        assert 0 < answers.count(b"HTTP/1.1 200 ") < 1000
        assert not answers.endswith(b"ok\n")
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.INFO] == []


def test_an_idle_connection_is_closed(hasty_app: RunningApp) -> None:
    with hasty_app.connected() as raw:
        raw.sendall(LAST.replace(b"close", b"keep-alive"))
        assert status(until_closed(raw)) == 200


# Form


def test_requests_in_a_row_are_answered_in_their_order(app: RunningApp) -> None:
    paths = ["/api/totals", "/healthz", "/nothing", "/api/top?limit=1", "/static/weft.js"]
    asked = b"".join(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() for path in paths)
    answer = app.say(asked * 5 + LAST)
    found = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert found == [200, 200, 404, 200, 200] * 5 + [200]


def test_one_connection_serves_questions_and_changes(app: RunningApp, token: str) -> None:
    post = f"POST /api/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    post += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    answer = app.say(post.encode() * 3 + LAST)
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200"] * 4


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nBad Header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n folded: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 1000,
    ],
)
def test_what_is_no_request_is_answered_with_400_and_closed(
    app: RunningApp, raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = app.say(raw)
    assert status(answer) in (400, 404, 405), answer
    assert has_security_headers(answer)
    assert b"Traceback" not in answer
    assert caplog.records == []


def test_a_web_socket_is_not_begun_and_the_log_stays_quiet(app: RunningApp, caplog: pytest.LogCaptureFixture) -> None:
    asked = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    asked += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    with caplog.at_level(logging.INFO):
        answer = app.say(asked + b"GET /api/totals HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert status(answer) == 200
    assert answer.count(b"HTTP/1.1 ") == 1
    assert caplog.records == []


# Methods


PATHS = ("/", "/top", "/api/totals", "/api/top", "/healthz", "/openapi.json", "/static/weft.css", "/login", "/metrics")


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_its_body(app: RunningApp, path: str) -> None:
    looked, got = app.ask(path, "HEAD"), app.ask(path)
    assert (looked.status, looked.body) == (200, b"")
    changing = {"date", "content-length", "etag"} if path in ("/", "/metrics") else {"date"}
    assert {k: v for k, v in looked.headers.items() if k not in changing} == {
        k: v for k, v in got.headers.items() if k not in changing
    }


def test_a_look_at_the_stream_of_events_ends(app: RunningApp) -> None:
    answer = app.say(b"HEAD /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + LAST)
    assert b"text/event-stream" in answer
    assert answer.endswith(b"ok\n"), "the next request on the connection is answered"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ["/", "/api/top", "/api/retry", "/do/retry", "/login", "/static/weft.js", "/metrics"])
def test_other_methods_are_refused(app: RunningApp, path: str, method: str) -> None:
    answer = app.ask(path, method)
    assert answer.status == 405
    assert answer.headers["allow"]
    assert set(answer.headers["allow"].split(", ")) <= {"GET", "HEAD", "POST"}
    if path.startswith("/api"):
        assert method in answer.sentence


def test_questions_are_not_posted_and_changes_are_not_got(app: RunningApp, token: str) -> None:
    assert app.change("/api/top", {}, Authorization=f"Bearer {token}").status == 405
    assert app.ask("/api/retry").status == 405
    assert app.ask("/do/retry").status == 405


def test_beyond_the_connections_there_is_an_answer_like_any_other(small_home: Path) -> None:
    with running_app(small_home, limits=WebLimits(connections=2)) as app, app.connected(), app.connected():
        for path, accepts, kind in (
            ("/api/totals", "*/*", b"application/problem+json"),
            ("/", "text/html", b"text/html; charset=utf-8"),
        ):
            answer = app.say(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accepts}\r\n\r\n".encode())
            assert status(answer) == 503
            assert has_security_headers(answer)
            assert b"retry-after: 5\r\n" in answer.lower()
            assert b"connection: close\r\n" in answer.lower()
            assert b"content-type: " + kind in answer
            assert b"too many connections are open" in answer

"""Whose requests are answered: names of ours, pages of ours, and pages of origins that were allowed."""

from __future__ import annotations

from http.cookies import SimpleCookie

import pytest

from support.web_app import RunningApp
from weft.actions.web_login import new_login_code
from weft.home import Home


def logged_in(app: RunningApp) -> tuple[str, str]:
    """A new session: its cookie and its secret for forms."""
    answer = app.ask("/login", code=new_login_code(Home(app.home)))
    cookie = SimpleCookie(answer.headers["set-cookie"])
    name, value = next((name, morsel.value) for name, morsel in cookie.items())
    return f"{name}={value}", app.web.sessions.find(value).csrf


# Host


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:1", "localhost", "LOCALHOST:99", "[::1]", "[::1]:80", "127.9.9.9"]
)
def test_names_of_this_machine_are_answered(app: RunningApp, host: str) -> None:
    assert app.ask("/api/totals", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1:80.evil.example",
        "127.0.0.1:80:evil.example",
        "127.0.0.1:evil.example",
        "[::1].evil.example",
        "[::1]evil.example:80",
        "[::1]:80.evil.example",
        "[127.0.0.1].evil.example",
        "[localhost]",
        "[::1%25evil.example]",
        "localhost:80 .evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8765",
        "evil.example:127",
        "localhost@evil.example",
        "evil.example#127.0.0.1",
        "evil.example/127.0.0.1",
        "127.0.0.1 evil.example",
        "192.0.2.1",
        "0.0.0.0",
        "[::]",
        "[fe80::1%25lo]",
        "[::ffff:192.0.2.1]",
        "[::1",
        "weft.example",
        "2130706433",
        "ößt",
        ":80",
        "",
    ],
)
def test_other_names_are_refused_because_they_may_be_rebound(app: RunningApp, host: str) -> None:
    for path in ("/", "/api/totals", "/healthz", "/static/weft.js", "/login"):
        raw = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        status = app.say(raw.encode()).partition(b"\r\n")[0]
        assert status.startswith((b"HTTP/1.1 421 ", b"HTTP/1.1 400 ")), (path, status)


def test_a_request_without_a_host_or_with_two_is_refused(app: RunningApp) -> None:
    for hosts in ("", "Host: 127.0.0.1\r\nHost: evil.example\r\n", "Host: evil.example\r\nHost: 127.0.0.1\r\n"):
        for version in ("1.0", "1.1"):
            raw = f"GET /api/totals HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n"
            assert app.say(raw.encode())[9:12] in (b"400", b"421"), hosts


def test_where_others_can_reach_it_addresses_and_chosen_names_are_answered(far_app: RunningApp) -> None:
    for host in ("weft.example", "WEFT.example.:8765", "192.0.2.1:80", "203.0.113.9", "localhost", "[2001:db8::1]:80"):
        assert far_app.ask("/healthz", headers={"Host": host}).status == 200, host
    for host in ("evil.example", "xweft.example", "weft.example.evil.example"):
        assert far_app.ask("/healthz", headers={"Host": host}).status == 421, host


# Origin and the secret of forms

FORM = "/do/retry"


@pytest.mark.parametrize(
    ("headers", "csrf", "status"),
    [
        ({"Origin": "ours"}, "right", 303),
        ({"Origin": "", "Sec-Fetch-Site": "same-origin"}, "right", 303),
        ({"Origin": "ours"}, "wrong", 403),
        ({"Origin": "ours"}, "", 403),
        ({"Origin": "ours"}, "ünïcode", 403),
        ({"Origin": ""}, "right", 403),
        ({"Origin": "", "Sec-Fetch-Site": "same-site"}, "right", 403),
        ({"Origin": "", "Sec-Fetch-Site": "cross-site"}, "right", 403),
        ({"Origin": "", "Sec-Fetch-Site": "none"}, "right", 403),
        ({"Origin": "null"}, "right", 403),
        ({"Origin": "http://evil.example"}, "right", 403),
        ({"Origin": "ours.evil.example"}, "right", 403),
        ({"Origin": "evil-scheme"}, "right", 403),
        ({"Origin": "http://127.0.0.1"}, "right", 403),
        ({"Origin": "http://127.0.0.1:1"}, "right", 403),
        ({"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}, "right", 403),
    ],
)
def test_a_form_is_taken_from_our_own_page_of_this_session_alone(
    app: RunningApp, headers: dict[str, str], csrf: str, status: int
) -> None:
    cookie, secret = logged_in(app)
    ours = {"ours": app.origin, "ours.evil.example": f"{app.origin}.evil.example"}
    ours["evil-scheme"] = app.origin.replace("http:", "evil:")
    sent = {name: ours.get(value, value) for name, value in headers.items()}
    fields = {"csrf": secret if csrf == "right" else csrf, "back": "/top"}
    answer = app.post_form(FORM, fields, Cookie=cookie, **sent)
    assert answer.status == status
    api = {"Cookie": cookie, "X-CSRF-Token": fields["csrf"].encode().decode("latin-1"), **sent}
    api = {name: value for name, value in api.items() if value}
    assert app.change("/api/retry", {}, **api).status == (200 if status == 303 else status)


def test_the_secret_of_another_session_does_not_help(app: RunningApp) -> None:
    cookie, _ = logged_in(app)
    _, other = logged_in(app)
    assert app.post_form(FORM, {"csrf": other}, Cookie=cookie).status == 403


def test_a_form_without_a_session_or_with_a_bad_one_changes_nothing(app: RunningApp) -> None:
    for cookie in ("", f"weft_{app.port}=nonsense", f"weft_{app.port}=", "weft_1=x", "ü=ö"):
        answer = app.post_form(FORM, {"csrf": ""}, Cookie=cookie)
        assert answer.status == 401, cookie
        assert "www-authenticate" in answer.headers


@pytest.mark.parametrize(
    ("back", "place"),
    [
        ("/top?limit=3", "/top?limit=3"),
        ("//evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("\\\\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.example", "/"),
        ("/\n//evil.example", "/"),
        ("/\r\nSet-Cookie: a=b", "/"),
        (" //evil.example", "/"),
        ("", "/"),
    ],
)
def test_after_a_form_the_browser_stays_here(app: RunningApp, back: str, place: str) -> None:
    cookie, secret = logged_in(app)
    answer = app.post_form(FORM, {"csrf": secret, "back": back}, Cookie=cookie)
    assert (answer.status, answer.headers["location"]) == (303, place)


@pytest.mark.parametrize(
    "typed",
    ["//evil.example", "https://evil.example/", "/\\evil.example", "evil.example/x", "\r\nX: y", "javascript:alert(1)"],
)
def test_the_box_leads_to_places_of_this_app_alone(app: RunningApp, typed: str) -> None:
    answer = app.ask("/go", q=typed)
    assert answer.status == 303
    place = answer.headers["location"]
    assert place.startswith(("/page?", "/domain/", "/search?", "/"))
    assert not place.startswith(("//", "/\\"))
    assert "x" not in answer.headers


# Pages of other origins (CORS)

BOARD = "https://board.example"


def test_pages_of_an_allowed_origin_may_read_the_api_with_a_token(far_app: RunningApp, token: str) -> None:
    sent = {"Origin": BOARD, "Authorization": f"Bearer {token}"}
    answer = far_app.ask("/api/totals", headers=sent)
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == BOARD
    assert "Origin" in answer.headers["vary"]
    assert "access-control-allow-credentials" not in answer.headers, "cookies are not for other origins"
    refused = far_app.ask("/api/totals", headers={"Origin": BOARD})
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, BOARD), "it may read why"


def test_a_browser_asks_first_without_a_token_and_is_told_what_is_allowed(far_app: RunningApp) -> None:
    asked = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    answer = far_app.ask("/api/totals", "OPTIONS", headers={"Origin": BOARD, **asked})
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == BOARD
    assert "authorization" in answer.headers["access-control-allow-headers"].lower()
    assert "POST" not in answer.headers["access-control-allow-methods"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://board.example", "https://board.example:444", "null", ""]
)
def test_other_origins_are_told_nothing(far_app: RunningApp, token: str, origin: str) -> None:
    for method, more in (("GET", {}), ("OPTIONS", {"Access-Control-Request-Method": "GET"})):
        sent = {"Origin": origin, "Authorization": f"Bearer {token}", **more}
        answer = far_app.ask("/api/totals", method, headers=sent)
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_without_allowed_origins_there_is_no_cors_and_pages_never_have_it(app: RunningApp, far_app: RunningApp) -> None:
    assert "access-control-allow-origin" not in app.ask("/api/totals", headers={"Origin": BOARD}).headers
    for path in ("/", "/login", "/static/weft.js", "/metrics"):
        assert "access-control-allow-origin" not in far_app.ask(path, headers={"Origin": BOARD}).headers

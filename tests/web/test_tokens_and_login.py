"""Who may read and who may change: tokens, login links, sessions."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from support.web_app import Answer, RunningApp, running_app
from weft.actions.web_login import new_login_code
from weft.actions.web_tokens import create_token, list_tokens, revoke_token
from weft.config import load
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.web import visitors
from weft.web.sessions import MOST_SESSIONS, Sessions

QUESTIONS = ("/api/totals", "/api/top", "/api/status", "/api/events", "/openapi.json", "/metrics", "/", "/top")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def cookie_of(answer: Answer) -> tuple[str, str]:
    name, morsel = next(iter(SimpleCookie(answer.headers["set-cookie"]).items()))
    return name, morsel.value


# Tokens


def test_a_change_needs_a_token(app: RunningApp, token: str) -> None:
    refused = app.change("/api/retry", {})
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert "weft token" in refused.sentence
    assert app.change("/api/retry", {}, **bearer(token)).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        "Bearer weft_" + "x" * 43,
        "Bearer",
        "Bearer  ",
        "Basic d2VmdDp3",
        "weft_x",
        "",
        "Bearer weft_ÿ",
        "Bearer " + "x" * 9000,
    ],
)
def test_a_wrong_token_is_refused_even_where_none_is_needed(app: RunningApp, sent: str) -> None:
    for path in ("/api/totals", "/api/top"):
        answer = app.ask(path, headers={"Authorization": sent})
        assert answer.status == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "xxxx" not in answer.text, "what was sent is not repeated"


def test_a_token_works_until_it_is_revoked_and_its_use_is_noted(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visitors, "TOKEN_SECONDS", 0.0)
    with (
        running_app(own_home, listens_at="192.0.2.1") as app,
        closing(open_mgmt(load(own_home, {}, []).settings, Home(own_home))) as mgmt,
    ):
        made = create_token(mgmt, "board", int(time.time() * 1000))
        assert app.ask("/api/totals", headers=bearer(made.text)).status == 200
        assert [each.used > 0 for each in list_tokens(mgmt) if each.id == made.token.id] == [True]
        cookie = "{}={}".format(*cookie_of(app.post_form("/login", {"token": made.text})))
        assert app.ask("/api/totals", headers={"Cookie": cookie}).status == 200
        revoke_token(mgmt, made.token.id)
        assert app.ask("/api/totals", headers=bearer(made.text)).status == 401
        assert app.ask("/api/totals", headers={"Cookie": cookie}).status == 401, "a login with it ends with it"


def test_a_stranger_with_a_wrong_token_writes_nothing(tmp_path: Path, own_home: Path) -> None:
    for file in own_home.glob("mgmt.db*"):
        file.unlink() if file.is_file() else None
    for directory in own_home.glob("mgmt.db-locks*"):
        for each in directory.iterdir():
            each.unlink()
        directory.rmdir()
    before = sorted(own_home.iterdir())
    with running_app(own_home) as app:
        assert app.ask("/api/totals", headers=bearer("weft_" + "x" * 43)).status == 401
    assert sorted(own_home.iterdir()) == before


# Where others can reach it


@pytest.mark.parametrize("path", QUESTIONS)
def test_reading_needs_a_login_or_a_token_where_others_can_reach_it(far_app: RunningApp, token: str, path: str) -> None:
    refused = far_app.ask(path)
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert b"hub.example" not in refused.body
    assert b"example" not in refused.body.replace(b"weft.example", b"")
    if path != "/api/events":
        assert far_app.ask(path, headers=bearer(token)).status == 200


def test_what_a_login_needs_is_open_to_all_and_nothing_beside_it(far_app: RunningApp) -> None:
    for path in ("/healthz", "/readyz", "/login", "/static/weft.css", "/static/weft.js"):
        assert far_app.ask(path).status == 200, path
    for path in ("/loginx", "/login/x", "/healthzz", "/static", "/staticx", "/nothing", "/login%2f..%2fapi%2ftop"):
        assert far_app.ask(path).status == 401, path


def test_a_public_app_is_read_by_all_and_changed_by_none(small_home: Path, token: str) -> None:
    with running_app(small_home, "web.public=true", listens_at="192.0.2.1") as app:
        assert app.ask("/api/totals").status == 200
        assert app.change("/api/retry", {}).status == 401
        assert app.change("/api/retry", {}, **bearer(token)).status == 200


# Logging in with a browser


def test_a_link_logs_in_once_with_a_cookie_that_no_script_and_no_other_site_can_use(far_app: RunningApp) -> None:
    code = new_login_code(Home(far_app.home))
    answer = far_app.ask("/login", code=code)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    morsel = SimpleCookie(answer.headers["set-cookie"])[f"weft_{far_app.port}"]
    assert (morsel["httponly"], morsel["samesite"].lower(), morsel["path"]) == (True, "strict", "/")
    assert morsel["domain"] == ""
    assert int(morsel["max-age"]) == 12 * 3600
    assert len(morsel.value) >= 43
    assert code not in morsel.value
    name = f"weft_{far_app.port}"
    assert far_app.ask("/", headers={"Cookie": f"{name}={morsel.value}"}).status == 200
    again = far_app.ask("/login", code=code)
    assert again.status == 403
    assert "set-cookie" not in again.headers
    assert "weft token login" in again.text


def test_a_look_at_a_link_does_not_use_it_up(far_app: RunningApp) -> None:
    code = new_login_code(Home(far_app.home))
    looked = far_app.ask(f"/login?code={code}", "HEAD")
    assert "set-cookie" not in looked.headers
    assert far_app.ask("/login", code=code).status == 303


@pytest.mark.parametrize("code", ["x", "%00", "é" * 3000, "a&code=b", "%ff%fe"])
def test_a_wrong_code_does_not_log_in(far_app: RunningApp, code: str) -> None:
    new_login_code(Home(far_app.home))
    answer = far_app.ask("/login", code=code)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_of_many_who_use_a_link_at_once_one_is_logged_in(far_app: RunningApp) -> None:
    code = new_login_code(Home(far_app.home))
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(far_app.ask("/login", code=code).status)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [303] + [403] * 7


def test_a_token_logs_in_too_from_our_own_page_alone(far_app: RunningApp, token: str) -> None:
    name, value = cookie_of(far_app.post_form("/login", {"token": f" {token} "}))
    assert token not in value
    assert far_app.ask("/", headers={"Cookie": f"{name}={value}"}).status == 200
    assert far_app.post_form("/login", {"token": token}, Origin="https://evil.example").status == 403
    assert far_app.post_form("/login", {"token": token}, Origin="").status == 403
    for wrong in ("", "weft_" + "y" * 43, "ÿ\x00", "x" * 60_000):
        refused = far_app.post_form("/login", {"token": wrong})
        assert refused.status == 403
        assert "set-cookie" not in refused.headers


@pytest.mark.parametrize("path", ["/login", "/logout", "/do/retry"])
@pytest.mark.parametrize("body", [b"a=1&" * 200, b"\xff\xfe=\xff", b"%ff=%00", b"=&&=;", b"\x00" * 100, b""])
def test_a_form_that_is_none_is_refused(far_app: RunningApp, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": far_app.origin}
    assert far_app.ask(path, "POST", body, headers).status in (400, 401, 403)
    headers["Content-Type"] = "application/json"
    assert far_app.ask(path, "POST", body, headers).status in (400, 401, 403, 415)


def test_a_session_ends_when_its_owner_says_so(far_app: RunningApp) -> None:
    name, value = cookie_of(far_app.ask("/login", code=new_login_code(Home(far_app.home))))
    cookie = f"{name}={value}"
    csrf = far_app.web.sessions.find(value).csrf
    assert far_app.post_form("/logout", {"csrf": "wrong"}, Cookie=cookie).status == 403
    assert far_app.ask("/", headers={"Cookie": cookie}).status == 200
    ended = far_app.post_form("/logout", {"csrf": csrf}, Cookie=cookie)
    assert ended.status == 303
    assert "Max-Age=0" in ended.headers["set-cookie"]
    assert far_app.ask("/", headers={"Cookie": cookie}).status == 401
    assert far_app.post_form("/logout", {"csrf": csrf}, Cookie=cookie).status == 401


def test_a_session_ends_by_age_and_there_are_never_too_many() -> None:
    short = Sessions(seconds=0.0)
    assert short.find(short.begin()) is None
    many = Sessions()
    first, *_, last = [many.begin() for _ in range(MOST_SESSIONS + 1)]
    assert many.find(first) is None
    assert many.find(last) is not None
    assert many.find("") is None


def test_a_cookie_of_a_weft_at_another_port_is_not_ours(app: RunningApp, far_app: RunningApp) -> None:
    name, value = cookie_of(app.ask("/login", code=new_login_code(Home(app.home))))
    assert name == f"weft_{app.port}"
    for cookie in (f"{name}={value}", f"weft_{far_app.port}={value}"):
        assert far_app.ask("/", headers={"Cookie": cookie}).status == 401


def test_the_cookie_alone_is_no_token(far_app: RunningApp) -> None:
    _, value = cookie_of(far_app.ask("/login", code=new_login_code(Home(far_app.home))))
    assert far_app.ask("/api/totals", headers=bearer(value)).status == 401

"""What people change through the web app: by a program with a token, and by a browser with a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.web_app import RunningApp, copy_home, new_token, running_app
from support.web_changes import SITES, Browser, logged_in, make_operated_home, opened, sites_of, two_processes
from weft.mgmt.values import NodeState
from weft.web.changes import CHANGES
from weft.web.openapi import operation_id

GOOD: dict[str, dict[str, Any]] = {
    "/api/add": {"url": "https://new.example/"},
    "/api/fetch": {"url": "https://test.com/page"},
    "/api/exclude": {"site": "test.com"},
    "/api/include": {"site": "closed.example"},
    "/api/pause": {},
    "/api/resume": {},
    "/api/stop": {},
    "/api/retry": {},
    "/api/rules/keep": {"where": "com.test/list", "parameters": "session"},
    "/api/rules/drop": {"where": "com.test/list", "parameters": "session"},
    "/api/rules/learn": {"where": "com.test/list", "parameters": "session"},
}
WRONG: tuple[Any, ...] = (None, True, 7, -1, 1.5, 1e308, [], ["x"], {}, {"a": 1}, "", "x" * 20_000, "a\x00b", "\u202e")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_operated_home(tmp_path_factory.mktemp("operated"))


@pytest.fixture
def changed(original: Path, tmp_path: Path) -> Iterator[tuple[RunningApp, str]]:
    home = copy_home(original, tmp_path)
    token = new_token(home)
    with two_processes(home), running_app(home) as app:
        yield app, token


@pytest.fixture
def program(changed: tuple[RunningApp, str]) -> Any:
    app, token = changed

    def change(path: str, **fields: Any) -> Any:
        answer = app.change(path, fields, Authorization=f"Bearer {token}")
        assert answer.status == 200, answer.text
        return answer.json

    return change


@pytest.fixture
def browser(changed: tuple[RunningApp, str]) -> Browser:
    return logged_in(*changed)


def home_of(browser: Browser) -> Path:
    return browser.app.home


def test_every_change_is_tried_here() -> None:
    assert GOOD.keys() == {change.path for change in CHANGES}


# Sites


def test_a_program_adds_a_site(changed: tuple[RunningApp, str], program: Any) -> None:
    told = program("/api/add", url="new.example/docs/", scope="path")
    assert told["sentence"].startswith("new.example/docs/ is added. No crawl is running")
    assert told["count"] == 1
    site = sites_of(changed[0].home)["new.example"]
    assert site.settings.include == (r"^https?://new\.example/docs/",)
    with opened(changed[0].home) as mgmt:
        assert mgmt.counts().links["pending"] == 1
    assert "was known already" in program("/api/add", url="https://new.example/docs/")["sentence"]


def test_a_browser_adds_a_site_and_is_told_what_came_of_it(browser: Browser) -> None:
    assert "is added" in browser.told("add", url="https://new.example/", scope="", local="")
    assert "new.example" in sites_of(home_of(browser))
    refused = browser.press("add", url="ftp://new.example/")
    assert refused.status == 303
    page = browser.get("/sites").text
    assert 'class="notice bad" role="alert"' in page
    assert "notice" not in browser.get("/sites").text.partition("<main")[2].partition("<h1")[0], "told once"


@pytest.mark.parametrize("url", ["*", "http://*/"])
def test_no_url_opens_the_crawl_to_all_sites(changed: tuple[RunningApp, str], url: str) -> None:
    app, token = changed
    before = sites_of(app.home)
    refused = app.change("/api/add", {"url": url}, Authorization=f"Bearer {token}")
    assert refused.status == 400
    assert "has '*' in its host" in refused.sentence
    assert sites_of(app.home) == before


def test_a_host_on_this_machine_is_crawled_only_where_that_is_meant(
    changed: tuple[RunningApp, str], program: Any
) -> None:
    app, token = changed
    refused = app.change("/api/add", {"url": "http://127.0.0.1:9/"}, Authorization=f"Bearer {token}")
    assert refused.status == 400
    assert "private network" in refused.sentence
    assert "--local" not in refused.sentence
    assert "127.0.0.1:9" not in sites_of(app.home)
    program("/api/add", url="http://127.0.0.1:9/", local=True)
    assert sites_of(app.home)["127.0.0.1:9"].settings.local


def test_sites_are_excluded_and_included_again(browser: Browser, program: Any) -> None:
    assert "crawled no more" in program("/api/exclude", site="test.com")["sentence"]
    assert sites_of(home_of(browser))["test.com"].is_excluded
    assert "may be crawled again" in browser.told("include", site="test.com")
    assert not sites_of(home_of(browser))["test.com"].is_excluded
    assert sites_of(home_of(browser))["locked.example"] == SITES[1], "nothing else changed"


def test_a_site_that_nobody_named_is_excluded_only_if_it_is_said_to_be_new(
    changed: tuple[RunningApp, str], program: Any
) -> None:
    app, token = changed
    for path in ("/api/exclude", "/api/include"):
        unknown = app.change(path, {"site": "other.example"}, Authorization=f"Bearer {token}")
        assert unknown.status == 404
        assert "other.example is not a site" in unknown.sentence
        assert "--" not in unknown.sentence
    program("/api/exclude", site="other.example", new=True)
    assert sites_of(app.home)["other.example"].is_excluded
    wrong = app.change("/api/exclude", {"site": "not a name", "new": True}, Authorization=f"Bearer {token}")
    assert wrong.status == 400


# Pages


def test_a_page_of_a_site_is_fetched_now(changed: tuple[RunningApp, str], program: Any) -> None:
    app, token = changed
    assert "https://test.com/page is fetched" in program("/api/fetch", url="test.com/page")["sentence"]
    with opened(app.home) as mgmt:
        assert mgmt.counts().links["pending"] == 1
    elsewhere = app.change("/api/fetch", {"url": "https://nobody.example/"}, Authorization=f"Bearer {token}")
    assert elsewhere.status == 404
    closed = app.change("/api/fetch", {"url": "https://closed.example/"}, Authorization=f"Bearer {token}")
    assert closed.status in (400, 404)


# Processes


def asked_of(home: Path) -> dict[str, NodeState]:
    with opened(home) as mgmt:
        return {node.address: node.asked for node in mgmt.nodes()}


def test_one_process_or_all_pause_and_go_on(browser: Browser, program: Any) -> None:
    home = home_of(browser)
    one, two = "127.0.0.1:4001", "127.0.0.1:4002"
    assert program("/api/pause", address=one) == {"sentence": "1 process is asked to pause.", "count": 1}
    assert asked_of(home) == {one: NodeState.PAUSED, two: NodeState.ONLINE}
    assert browser.told("pause") == "2 processes are asked to pause."
    assert asked_of(home) == {one: NodeState.PAUSED, two: NodeState.PAUSED}
    assert browser.told("resume", address=two) == "1 process is asked to go on."
    assert asked_of(home) == {one: NodeState.PAUSED, two: NodeState.ONLINE}
    assert browser.told("pause", address="nobody") == "no node has the address nobody"


def test_stop_asks_everybody_and_says_what_becomes_of_the_web_app(browser: Browser, program: Any) -> None:
    told = program("/api/stop")
    assert told["count"] == 2
    assert "This web app stays" in told["sentence"]
    assert set(asked_of(home_of(browser)).values()) == {NodeState.DRAINING}


# Parameters


def test_rules_are_overruled_and_left_to_weft_again(browser: Browser, program: Any) -> None:
    home = home_of(browser)
    where = "com.test/list"
    assert (
        "On test.com, addresses that differ in session are"
        in program("/api/rules/keep", where=where, parameters="session")["sentence"]
    )
    assert sites_of(home)["test.com"].settings.keep_parameters == ("session",)
    assert "session and sort" in browser.told("rules_drop", where=where, parameters="session&sort")
    settings = sites_of(home)["test.com"].settings
    assert (settings.keep_parameters, settings.drop_parameters) == (None, ("session", "sort"))
    browser.told("rules_learn", where=where, parameters="session&sort")
    assert sites_of(home)["test.com"].settings.drop_parameters is None


# Refusals


@pytest.mark.parametrize("path", GOOD)
def test_wrong_bodies_are_refused_with_a_sentence_and_change_nothing(
    changed: tuple[RunningApp, str], path: str
) -> None:
    app, token = changed
    before, asked = sites_of(app.home), asked_of(app.home)
    bodies: list[Any] = [[], "x", 7, None, {**GOOD[path], "unknown": 1}]
    for name in GOOD[path]:
        bodies += [{**GOOD[path], name: wrong} for wrong in WRONG]
        bodies.append({each: value for each, value in GOOD[path].items() if each != name})
    for body in bodies:
        answer = app.change(path, body, Authorization=f"Bearer {token}")
        assert answer.status in (400, 404), (body, answer.text)
        assert answer.sentence
    for raw in (b"{", b"\xff\xfe", b"[" * 5000, b"nul"):
        refused = app.ask(path, "POST", raw, {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        assert refused.status == 400
        assert refused.sentence
    assert (sites_of(app.home), asked_of(app.home)) == (before, asked)


@pytest.mark.parametrize("path", GOOD)
def test_changes_without_a_right_are_refused_and_change_nothing(changed: tuple[RunningApp, str], path: str) -> None:
    app, token = changed
    before, asked = sites_of(app.home), asked_of(app.home)
    browser = logged_in(app, token)
    form = f"/do/{operation_id(path)}"
    fields = {name: str(value) for name, value in GOOD[path].items()}
    csrf = browser.csrf()
    assert app.change(path, GOOD[path]).status == 401
    assert app.change(path, GOOD[path], Authorization="Bearer weft_" + "x" * 43).status == 401
    assert app.change(path, GOOD[path], Cookie=browser.cookie).status == 403, "a cookie alone is no right"
    assert app.ask(path, "POST", "{}", {"Authorization": f"Bearer {token}"}).status == 415
    assert app.ask(path).status == 405
    assert app.post_form(form, {**fields, "csrf": csrf}).status == 401, "no session"
    assert app.post_form(form, fields, Cookie=browser.cookie).status == 403, "no csrf"
    assert app.post_form(form, {**fields, "csrf": csrf[:-1]}, Cookie=browser.cookie).status == 403
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{app.port + 1}"):
        elsewhere = app.post_form(form, {**fields, "csrf": csrf}, Cookie=browser.cookie, Origin=origin)
        assert elsewhere.status == 403
    assert app.post_form(form, {**fields, "csrf": csrf}, Cookie=browser.cookie, Origin="").status == 403
    assert (sites_of(app.home), asked_of(app.home)) == (before, asked)


def test_a_form_with_a_token_is_refused_before_it_changes_anything(changed: tuple[RunningApp, str]) -> None:
    app, token = changed
    refused = app.post_form(
        "/do/exclude", {"site": "test.com"}, Authorization=f"Bearer {token}", Accept="application/json"
    )
    assert refused.status == 400
    assert "/api/exclude" in refused.sentence
    assert not sites_of(app.home)["test.com"].is_excluded


def test_a_form_leads_back_to_our_own_pages_alone(browser: Browser) -> None:
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/\r\nX: y", ""):
        assert browser.press("retry", back=back).headers["location"] == "/"


@pytest.mark.parametrize("fields", [{"url": ""}, {"url": "x" * 20_000}, {"url": "https://a.example/", "scope": "all"}])
def test_a_form_with_a_wrong_field_is_answered_with_a_page(browser: Browser, fields: dict[str, str]) -> None:
    answer = browser.press("add", **fields)
    assert answer.status == 400
    assert answer.kind == "text/html"
    assert "<h1>Bad Request</h1>" in answer.text

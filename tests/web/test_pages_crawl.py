"""The dashboard: empty, idle, and beside a crawl that runs."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from support.browser import complaints, opened, refused
from support.web_app import PATIENCE, RunningApp, new_token, running_app
from support.web_changes import until
from support.web_live import written_home
from support.whole_crawl import SETS, served_for
from weft.config import load
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import NewLink, NodeType, Result
from weft.model.fetch_error import FetchError
from weft.model.refusal import RefusalKind
from weft.web.pages.crawl_words import skip_sentence


@contextmanager
def crawling(place: Path) -> Iterator[Path]:
    """A home, and a crawl of a synthetic web into it that goes on until the end."""
    plan = WebPlan(seed=3, hosts=20, pages=60, addresses=4, profile=PROFILES["all"])
    with served_for(place, plan) as web, (place / "crawl.out").open("wb") as output:
        command = [sys.executable, "-m", "weft", "crawl", web.url(0), "--scope", "any", "--home", "home", *SETS]
        process = subprocess.Popen(
            [*command, "--rate", "5", "--seconds", "120"], cwd=place, stdout=output, stderr=output
        )
        try:
            end = time.monotonic() + PATIENCE
            while not (place / "home/status/urlserver.json").exists():
                assert process.poll() is None, (place / "crawl.out").read_text()
                assert time.monotonic() < end, (place / "crawl.out").read_text()
                time.sleep(0.1)
            yield place / "home"
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def running_node(home: Path) -> Iterator[None]:
    """A process that runs, as far as the control plane knows."""
    with closing(open_mgmt(load(home, {}, []).settings, Home(home))) as mgmt:
        mgmt.register(NodeType.SPIDER, "127.0.0.1:7777")
        yield


def logged_in(app: RunningApp, token: str) -> str:
    """The cookie of a browser that has logged in."""
    answer = app.post_form("/login", {"token": token})
    assert answer.status == 303
    return answer.headers["set-cookie"].partition(";")[0]


def test_an_empty_home_says_what_to_do(tmp_path: Path) -> None:
    with written_home(tmp_path) as made, running_app(made.path) as app:
        shown = app.ask("/crawl").text
        assert "Nothing is running" in shown
        assert "<code>weft up</code>" in shown
        assert "No links yet." in shown
        assert app.ask("/api/queues").status == 404
        assert "no URL server is running" in app.ask("/api/queues").sentence
        assert app.ask("/api/waiting").json == {"links": 0, "hosts": []}
        assert [sorted(each) for each in app.ask("/api/recent").json["items"]] == [
            ["at", "fresh", "queued", "rate", "search", "waiting"]
        ]


def test_a_web_app_alone_is_no_crawl(tmp_path: Path) -> None:
    with written_home(tmp_path) as made:
        token = new_token(made.path)
        with running_app(made.path, "mgmt.heartbeat=0.1", is_node=True) as app:
            until(lambda: app.ask("/api/status").json["running"] == ["web"], "the app among those that run")
            cookie = {"Cookie": logged_in(app, token), "Accept": "text/html"}
            assert "nothing is running" in app.ask("/").text or "Nothing here yet" in app.ask("/").text
            crawl, nodes = (app.ask(path, headers=cookie).text for path in ("/crawl", "/nodes"))
            assert "Nothing is running" in crawl
            assert "Nothing else is running." in nodes
            for page in (crawl, nodes):
                assert "<b>Web app</b>" in page
                assert f"127.0.0.1:{app.port}" in page
                assert [word for word in ("/do/stop", "/do/pause", "/do/resume") if word in page] == []
            stopped = app.change("/api/stop", {}, Authorization=f"Bearer {token}")
            assert (stopped.status, stopped.sentence) == (404, "nothing is running on any machine")
            with running_node(made.path):
                until(lambda: app.ask("/api/status").json["running"] == ["spider", "web"], "the spider")
                assert "/do/pause" in app.ask("/crawl", headers=cookie).text
                assert app.change("/api/pause", {}, Authorization=f"Bearer {token}").json["count"] == 1
                until(lambda: ">paused</span>" in app.ask("/crawl", headers=cookie).text, "the pause")


def test_a_control_plane_that_appears_is_seen(tmp_path: Path) -> None:
    with written_home(tmp_path) as made, running_app(made.path) as app:
        assert app.ask("/api/status").json["links"].get("pending", 0) == 0
        with closing(open_mgmt(load(made.path, {}, []).settings, Home(made.path))) as mgmt:
            mgmt.add([NewLink("com.example/", "https://example.com/", "example.com")])
        end = time.monotonic() + PATIENCE
        while app.ask("/api/status").json["links"].get("pending") != 1:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_errors_and_what_was_left_out_have_sentences(tmp_path: Path) -> None:
    with written_home(tmp_path) as made:
        with closing(open_mgmt(load(made.path, {}, []).settings, Home(made.path))) as mgmt:
            crawler = mgmt.register(NodeType.CRAWLER, "crawler")
            names = ("timeout", "tls_name", "robots")
            mgmt.add([NewLink(f"com.{name}/", f"https://{name}.com/", f"{name}.com") for name in names])
            chunk = mgmt.claim(crawler, 10)
            for link, name in zip(chunk.links, names, strict=True):
                mgmt.report([Result(doc_id=link.doc_id, claim=link.claim, error=FetchError.of(name))])
        with running_app(made.path) as app:
            shown = app.ask("/crawl").text
    for name in ("timeout", "tls_name"):
        assert FetchError.of(name).sentence in shown
    assert "the site&#39;s robots.txt does not allow it" in shown


def test_every_reason_to_leave_a_link_out_has_a_sentence() -> None:
    assert all(skip_sentence(kind) for kind in RefusalKind)
    assert skip_sentence("of another version") == ""


def test_only_those_who_may_change_see_buttons(own_home: Path) -> None:
    token = new_token(own_home)
    with running_node(own_home), running_app(own_home) as app:
        without, shown = app.ask("/crawl").text, app.ask("/crawl", headers={"Cookie": logged_in(app, token)}).text
    assert '<form action="/do/' not in without
    assert 'action="/do/pause"' in shown
    assert 'action="/do/resume"' not in shown, "nothing is paused"


def test_the_crawl_can_be_paused_and_goes_on(browser: Browser, own_home: Path) -> None:
    token = new_token(own_home)
    with running_node(own_home), running_app(own_home) as app, opened(browser) as page:
        page.goto(f"{app.origin}/login")
        page.get_by_label("Token").fill(token)
        page.locator("main").get_by_role("button", name="Log in").click()
        page.goto(f"{app.origin}/crawl")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("status").first).to_contain_text("asked to pause")
        expect(page.locator("main")).to_contain_text("asked: paused")
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("status").first).to_contain_text("asked to go on")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_the_dashboard_moves_while_a_crawl_runs(browser: Browser, tmp_path: Path) -> None:
    with crawling(tmp_path) as home, running_app(home) as app, opened(browser) as page:
        seen = complaints(page)
        page.goto(f"{app.origin}/crawl")
        expect(page.locator("[data-part=state]")).to_have_text("running", timeout=60_000)
        # URL server, spider, index, index server, and the web app of the crawl.
        expect(page.locator("[data-part=processes] tbody tr")).to_have_count(5, timeout=60_000)
        expect(page.locator("[data-part=processes]")).to_contain_text("MB")
        expect(page.locator("[data-part=queues] tbody tr").first).to_contain_text(".test", timeout=60_000)
        line = page.locator("[data-chart=rate] .line")
        before = line.get_attribute("d") or ""
        expect(line).not_to_have_attribute("d", before, timeout=60_000)
        expect(line).to_have_attribute("d", re.compile("(L.*){4}"), timeout=60_000)
        fetched = page.locator("[data-part=figures] .figure").nth(2).locator("b")
        count = fetched.inner_text()
        expect(fetched).not_to_have_text(count, timeout=60_000)
        queues = app.ask("/api/queues").json
        assert queues["items"][0]["queues"]
        taken = [each["at"] for each in app.ask("/api/recent").json["items"]]
        assert len(taken) > 2
        assert taken == sorted(taken)
        # The server's picture and the script's are drawn alike.
        page.reload()
        assert (line.get_attribute("d") or "").startswith("M")
        assert (seen, refused(page)) == ([], [])


def test_without_scripts_the_dashboard_is_complete(browser: Browser, app: RunningApp) -> None:
    with opened(browser, java_script_enabled=False) as page:
        page.goto(f"{app.origin}/crawl")
        headings = page.locator("h2").all_inner_texts()
        assert {"Links", "Hosts that wait", "Queues", "Errors", "Left out on purpose", "Processes"} <= set(headings)
        assert page.locator("svg[data-chart]").count() == 3


@pytest.mark.parametrize("asked", [{"limit": 0}, {"limit": 1001}, {"x": 1}])
def test_wrong_parameters_of_waiting_hosts_are_refused(app: RunningApp, asked: dict[str, Any]) -> None:
    assert app.ask("/api/waiting", **asked).status == 400

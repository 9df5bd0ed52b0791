"""Pages for those who run weft, and their twins in the API."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support.web_app import RunningApp, new_token, running_app
from support.web_changes import SECRETS, SITES, Browser, logged_in, make_operated_home, two_processes
from weft import __version__
from weft.config import KEYS
from weft.web.api import ENDPOINTS
from weft.web.changes import CHANGES

PAGES = ("/sites", "/rules", "/nodes", "/settings", "/about", "/more", "/docs")


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningApp, Browser]]:
    home = make_operated_home(tmp_path_factory.mktemp("operated"))
    token = new_token(home)
    with two_processes(home), running_app(home, f'spider.token="{SECRETS[0]}"') as app:
        yield app, logged_in(app, token)


class _Headings(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self.ids += [value for name, value in attrs if name == "id" and value]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_whole_for_readers_and_for_those_who_logged_in(
    operated: tuple[RunningApp, Browser], path: str
) -> None:
    app, browser = operated
    for answer in (app.ask(path, headers={"Accept": "text/html"}), browser.get(path)):
        assert answer.status == 200, answer.text[:500]
        found = _Headings()
        found.feed(answer.text)
        assert found.levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(found.levels, found.levels[1:], strict=False))
        assert len(found.ids) == len(set(found.ids)), "an id is on the page twice"
        assert not re.search(r"\son\w+=|style=|<script(?! src)", answer.text)
        for secret in SECRETS:
            assert secret not in answer.text


def test_readers_get_no_buttons(operated: tuple[RunningApp, Browser]) -> None:
    app, browser = operated
    for path in ("/sites", "/rules", "/nodes"):
        assert "/do/" not in app.ask(path).text
        assert "/do/" in browser.get(path).text


# Sites


def test_sites_tell_their_settings_without_secrets(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    found = {item["name"]: item for item in app.ask("/api/sites").json["items"]}
    assert found.keys() == {site.name for site in SITES}
    locked = found["locked.example"]
    assert locked["settings"] == {"headers": "***", "auth": "***", "proxy": "***", "rate": 0.5}
    assert len(locked["seeds"]) == 5
    assert found["closed.example"]["is_excluded"]
    page = app.ask("/sites").text
    assert "excluded: not crawled" in page
    assert "and 2 more" in page
    assert "redirects of" in page


def test_sites_are_found_by_a_part_of_their_name_and_turned_page_by_page(
    operated: tuple[RunningApp, Browser],
) -> None:
    app, _ = operated
    assert [item["name"] for item in app.ask("/api/sites", name="TEST").json["items"]] == ["test.com"]
    assert app.ask("/api/sites", name="nothing").json["items"] == []
    assert "No site has this" in app.ask("/sites", name="nothing").text
    names, cursor = list[str](), ""
    while True:
        found = app.ask("/api/sites", limit=1, cursor=cursor).json
        assert found["total"] == len(SITES)
        names += [item["name"] for item in found["items"]]
        if not (cursor := found["next"] or ""):
            break
    assert names == sorted(site.name for site in SITES)
    assert app.ask("/api/sites", limit=1, cursor=found["prev"]).json["items"][0]["name"] == names[-2]


# Rules


def test_rules_are_told_with_what_speaks_for_and_against_them(operated: tuple[RunningApp, Browser]) -> None:
    app, browser = operated
    found = app.ask("/api/rules", limit=1000).json
    assert found["next"] is None
    session = next(item for item in found["items"] if item["reach"] == "host")
    assert (session["parameters"], session["place"], session["domain"]) == (["session"], "test.com", "test.com")
    assert session["support"] > 1
    assert session["learned"].endswith("Z")
    assert any(item["dropped"] and item["parameters"] == ["sort"] for item in found["items"])
    page = browser.get("/rules?limit=1000").text
    assert "dropped" in page
    assert page.count("Always ignore") == sum(2 for item in found["items"] if item["parameters"])


def test_rules_go_on_where_an_answer_ended(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    whole = app.ask("/api/rules", limit=1000).json["items"]
    first = app.ask("/api/rules", limit=2).json
    page = app.ask("/rules", limit=2).text
    assert f"cursor={first['next']}" in page
    assert app.ask("/api/rules", limit=1000, cursor=first["next"]).json["items"] == whole[2:]
    assert app.ask("/api/rules", domain="nothing.example").json["items"] == []


def test_a_url_is_explained_on_the_page_and_in_the_api(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    told = app.ask("/api/rules", url="https://test.com/3?session=77").json["explained"]
    assert (told["reduced"], told["canonical_url"]) == (True, "https://test.com/3")
    assert told["rules"][0]["support"] > 0
    assert "Another address is fetched" in app.ask("/rules", url="https://test.com/3?session=77").text
    assert "no rule applies" in app.ask("/rules", url="https://test.com/3?other=1").text


def test_what_was_typed_wrongly_is_told_above_the_form(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    for query in ("url=ftp://test.com/", "url=https://test.com/&domain=test.com", "cursor=x"):
        page = app.ask(f"/rules?{query}", headers={"Accept": "text/html"})
        assert 'class="notice bad"' in page.text
        refused = app.ask(f"/api/rules?{query}")
        assert refused.status == 400
        assert refused.sentence in html.unescape(page.text)


# Processes


def test_processes_are_listed_with_their_machine_and_version(operated: tuple[RunningApp, Browser]) -> None:
    app, browser = operated
    found = {item["address"]: item for item in app.ask("/api/nodes").json["items"]}
    assert found["127.0.0.1:4001"]["machine"] == "one"
    assert found["127.0.0.1:4002"]["version"] == "9.9"
    page = browser.get("/nodes").text
    assert "Pause Spider 127.0.0.1:4001" in page
    assert app.ask("/api/nodes", address="127.0.0.1:4001").json["count"] == 1
    unknown = app.ask("/api/nodes", address="nobody")
    assert unknown.status == 404
    assert "nobody" in unknown.sentence


# Settings


def test_every_setting_is_told_with_its_meaning_and_origin(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    found = {item["key"]: item for item in app.ask("/api/settings").json["items"]}
    assert list(found) == list(KEYS)
    assert found["spider.token"]["value"] != SECRETS[0]
    assert found["spider.token"]["origin"] == "--set"
    assert found["web.rate"]["value"] == 1_000_000
    assert found["store.url"] | {"meaning": "", "expected": ""} == {
        "key": "store.url",
        "section": "store",
        "value": "rocksdb:",
        "default": "rocksdb:",
        "origin": "default",
        "meaning": "",
        "expected": "",
        "variable": "WEFT_STORE_URL",
    }
    assert found["store.url"]["meaning"]
    page = html.unescape(app.ask("/settings").text)
    assert [key.name for key in KEYS.values() if key.facts.meaning not in page] == []


def test_one_section_can_be_asked_for(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    assert {item["section"] for item in app.ask("/api/settings", section="web").json["items"]} == {"web"}
    refused = app.ask("/api/settings", section="nothing")
    assert refused.status == 404
    assert "expected one of store" in refused.sentence
    assert app.ask("/settings", section="nothing").status == 404


@pytest.mark.parametrize("path", ["/api/sites", "/api/rules", "/api/nodes", "/api/settings"])
def test_lists_can_be_had_as_csv(operated: tuple[RunningApp, Browser], path: str) -> None:
    app, _ = operated
    rows = list(csv.DictReader(io.StringIO(app.ask(path, format="csv").text)))
    assert len(rows) == app.ask(path).json["count"]
    assert not any(secret in str(rows) for secret in SECRETS)


# About and the API for people


def test_about_tells_what_this_weft_is(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    told = app.ask("/api/about").json
    assert (told["version"], told["home"]) == (__version__, str(app.home.resolve()))
    assert told["identity"]["index.count"] == "all"
    assert told["home"] in app.ask("/about").text


def test_more_leads_to_pages_that_are_there(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    places = re.findall(r'<li><a href="([^"]+)">', app.ask("/more").text)
    assert len(places) >= 6
    assert {app.ask(place).status for place in places} == {200}


def examples(app: RunningApp) -> list[str]:
    return [html.unescape(line) for line in re.findall(r"<pre>(curl .*?)</pre>", app.ask("/docs").text, re.S)]


def test_the_docs_have_an_example_for_everything(operated: tuple[RunningApp, Browser]) -> None:
    app, _ = operated
    page, lines = app.ask("/docs").text, examples(app)
    assert len(lines) == len(ENDPOINTS) + len(CHANGES) + 1
    declared = [(each.path, each.summary) for each in ENDPOINTS] + [(each.path, each.summary) for each in CHANGES]
    for path, summary in declared:
        assert path.partition("{")[0] in "".join(lines)
        assert summary in html.unescape(page)
    for reference in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{reference}"' in page


def test_the_examples_of_questions_work_as_they_stand(app: RunningApp) -> None:
    """Over pages that are known, so that each has an answer."""
    for line in examples(app):
        if "-d " in line or "-N " in line:
            continue
        run = subprocess.run(
            ["sh", "-c", f"{line} --silent --max-time 20 --output /dev/null --write-out '%{{http_code}}'"],
            capture_output=True,
            text=True,
            check=True,
        )
        # Queues are there while a URL server runs, captures of pages that were crawled.
        may_be_missing = "/api/queues" in line or "/api/capture" in line
        assert run.stdout == "200" or (may_be_missing and run.stdout == "404"), line


def test_the_examples_of_changes_work_with_a_token(tmp_path: Path) -> None:
    home = make_operated_home(tmp_path)
    with running_app(home) as app:
        environment = {**os.environ, "WEFT_TOKEN": new_token(home)}
        lines = [line for line in examples(app) if "-d " in line]
        assert len(lines) == len(CHANGES)
        for line in lines:
            run = subprocess.run(
                ["sh", "-c", f"{line} --silent --max-time 20"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            told = json.loads(run.stdout)
            # Sites of examples are nobody's: that is told as well as what was done.
            assert "sentence" in told or told["status"] == 404, (line, told)

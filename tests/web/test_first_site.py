"""An empty home, `weft up`, and somebody who names the first site in a browser or by a program: it is crawled."""

from __future__ import annotations

import json
import re
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from support.free_ports import free_port
from support.web_app import Answer, new_token, received
from support.web_changes import notice, small_site, until, weft_up
from support.weft_command import weft


class Client:
    """A browser or a program, by the headers that it sends."""

    def __init__(self, port: int, **headers: str) -> None:
        self.port, self.headers = port, headers

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {**self.headers, **headers})
            return received(connection)
        finally:
            connection.close()

    def post_form(self, path: str, **fields: str) -> Answer:
        origin = f"http://127.0.0.1:{self.port}"
        kind = "application/x-www-form-urlencoded"
        return self.ask(path, "POST", urlencode(fields), **{"Content-Type": kind, "Origin": origin})


def add_by_token(home: Path, port: int, url: str) -> str:
    program = Client(port, Authorization=f"Bearer {new_token(home)}")
    body = json.dumps({"url": url, "local": True})
    answer = program.ask("/api/add", "POST", body, **{"Content-Type": "application/json"})
    assert answer.status == 200, answer.text
    return str(answer.json["sentence"])


def add_by_form(home: Path, port: int, url: str) -> str:
    """By the link that `weft token login` prints, and the form of the start page."""
    login = weft("token", "login", "--home", str(home), "--json", cwd=home.parent)
    code = json.loads(login.stdout)["url"].partition("?")[2]
    begun = Client(port).ask(f"/login?{code}")
    name, morsel = next(iter(SimpleCookie(begun.headers["set-cookie"]).items()))
    browser = Client(port, Cookie=f"{name}={morsel.value}", Accept="text/html")
    start = browser.ask("/").text
    assert "Nothing here yet" in start
    csrf = re.search(r'name="csrf" value="([^"]+)"', start)
    assert csrf is not None
    assert 'action="/do/add"' in start
    added = browser.post_form("/do/add", csrf=csrf[1], back="/crawl", url=url, local="true")
    assert (added.status, added.headers["location"]) == (303, "/crawl")
    return notice(browser.ask("/crawl"))


@pytest.mark.parametrize("add", [add_by_token, add_by_form])
def test_the_first_site_is_crawled_once_somebody_names_it(tmp_path: Path, add: Any) -> None:
    home, port = tmp_path / "home", free_port()
    assert weft("init", "--home", str(home), cwd=tmp_path).returncode == 0
    reader = Client(port)
    with small_site() as url, weft_up(home, port) as up:
        until(lambda: reader.ask("/readyz").status == 200, "the web app")
        until(lambda: {"index", "urlserver", "spider"} <= set(running(reader)), "all roles")
        assert reader.ask("/api/totals").json["pages"] == 0
        assert add(home, port, url) == f"{url} is added. Its first page comes in within seconds."
        page = f"/api/page?{urlencode({'url': f'{url}one'})}"
        until(lambda: reader.ask(page).json.get("references") == 3, "all pages, which link to this one")
        assert reader.ask(page).json["crawled"]
        assert reader.ask("/api/totals").json["pages"] == 3
        assert "127.0.0.1" in reader.ask("/sites").text
        program = Client(port, Authorization=f"Bearer {new_token(home)}")
        told = program.ask("/api/stop", "POST", "{}", **{"Content-Type": "application/json"}).json["sentence"]
        assert "This web app ends with them" in told
        until(lambda: up.poll() is not None, "the end of weft up")
        assert up.returncode == 0


def running(reader: Client) -> list[str]:
    return list(reader.ask("/api/status").json["running"])

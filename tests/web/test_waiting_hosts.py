"""Hosts that wait, and why: a crawl meets a server that says "later", and the web app tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from support.browser import opened, overflow
from support.web_app import running_app
from support.web_live import written_home
from support.weft_command import weft
from weft.config import load
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import NewLink

REASONS = {
    "busy.example": ("status 503 Retry-After 7200", "its server answered 503 and asked for 2 h"),
    "slow.example": ("timeout", "its server did not answer in time"),
    "lost.example": ("dns", "its name could not be looked up"),
    "closed.example": ("robots.txt connect", "its robots.txt could not be had: its server accepts no connection"),
    "old.example": ("", ""),
    "odd.example": ("<b>new</b>", ""),
}


class Later(BaseHTTPRequestHandler):
    """A home page with links; whoever follows one is asked to come back in an hour."""

    def do_GET(self) -> None:
        status = {"/robots.txt": 404, "/": 200}.get(self.path, 503)
        body = "".join(f'<a href="/{page}">{page}</a>' for page in range(5)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if status == 503:
            self.send_header("Retry-After", "3600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Later) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def resting_home(tmp_path: Path) -> Iterator[Path]:
    """A home with hosts that wait for every kind of reason."""
    with written_home(tmp_path) as made:
        with closing(open_mgmt(load(made.path, {}, []).settings, Home(made.path))) as mgmt:
            mgmt.add([NewLink(f"{host}/", f"https://{host}/", host) for host in REASONS])
            reasons = {host: reason for host, (reason, _) in REASONS.items()}
            mgmt.defer(dict.fromkeys(REASONS, 7_000_000), reasons)
        yield made.path


def test_a_server_that_asks_for_an_hour_is_listed_with_what_it_said(tmp_path: Path) -> None:
    with served() as port:
        seed = f"http://127.0.0.1:{port}/"
        done = weft("crawl", seed, "--local", "--home", "home", "--rate", "50", "--no-web", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "because its server answered 503 and asked for 60 min." in done.stdout
    with running_app(tmp_path / "home") as app:
        told, shown = app.ask("/api/waiting").json, app.ask("/crawl").text
    (host,) = told["hosts"]
    assert (host["web_host"], host["reason"]) == (f"127.0.0.1:{port}", "status 503 Retry-After 3600")
    assert host["pending"] == told["links"] > 0
    assert 3_000_000 < host["wait"] <= 3_600_000
    assert "its server answered 503 and asked for 1 h" in shown


def test_every_reason_has_words_on_the_page_and_what_is_not_known_has_none(resting_home: Path) -> None:
    with running_app(resting_home) as app:
        told, shown = app.ask("/api/waiting").json["hosts"], app.ask("/crawl").text
    assert {host["web_host"]: host["reason"] for host in told} == {host: told for host, (told, _) in REASONS.items()}
    assert all(words in shown for _, words in REASONS.values())
    assert shown.count('<td data-name="Why"></td>') == 2
    assert "<b>new</b>" not in shown


@pytest.mark.parametrize("width", [390, 1200])
def test_the_list_fits_into_the_window(browser: Browser, resting_home: Path, width: int) -> None:
    with running_app(resting_home) as app, opened(browser, width) as page:
        page.goto(f"{app.origin}/crawl")
        expect(page.locator("[data-part=rest]")).to_contain_text("asked for 2 h")
        assert overflow(page) <= 0

"""A home whose sites, rules and processes people look at and change through the web app; and browsers that log in."""

from __future__ import annotations

import html
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from support.parameter_learning import Learning
from support.web_app import Answer, RunningApp
from support.weft_command import weft
from weft.config import load
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import NodeAbout, NodeType
from weft.model.site import Site, SiteSettings
from weft.roles.identity import require_identity
from weft.store.open import open_store

SECRETS = ("s3cr3t-bearer", "s3cr3t-password", "s3cr3t-proxy")
SITES = (
    Site(name="test.com", scope="domains", seeds=["https://test.com/"]),
    Site(
        name="locked.example",
        seeds=[f"https://locked.example/{n}" for n in range(5)],
        settings=SiteSettings(
            headers={"Authorization": f"Bearer {SECRETS[0]}"},
            auth=f"user:{SECRETS[1]}",
            proxy=f"http://u:{SECRETS[2]}@proxy.example:3128",
            rate=0.5,
        ),
    ),
    Site(name="closed.example", is_excluded=True),
    Site(name="led.example", led_from="https://test.com/moved"),
)


@contextmanager
def opened(home: Path) -> Iterator[Mgmt]:
    with closing(open_mgmt(load(home, {}, []).settings, Home(home))) as mgmt:
        yield mgmt


def sites_of(home: Path) -> dict[str, Site]:
    with opened(home) as mgmt:
        return {site.name: site for site in mgmt.sites()}


def make_operated_home(place: Path) -> Path:
    """With sites of every kind, and rules that were learned and dropped."""
    home = place / "home"
    assert weft("init", "--home", str(home), cwd=place).returncode == 0
    home.joinpath("weft.toml").write_text("[mgmt]\nlease = 86400.0\n")
    settings = load(home, {}, []).settings
    with closing(open_store(Home(home).store, settings)) as store:
        learn(Learning(settings.dispatcher, store))
    with opened(home) as mgmt:
        require_identity(mgmt, settings)
        mgmt.set_sites(SITES)
    return home


@contextmanager
def two_processes(home: Path) -> Iterator[None]:
    """Two that run for so long, as far as anybody knows."""
    with opened(home) as mgmt:
        for type_, machine, port in ((NodeType.SPIDER, "one", 4001), (NodeType.CRAWLER, "two", 4002)):
            lease = mgmt.register(type_, f"127.0.0.1:{port}", about=NodeAbout(machine=machine, version="9.9"))
            mgmt.heartbeat(lease)
        yield


def learn(learning: Learning) -> None:
    """`session` changes nothing on many paths; `page` and `sort` did not on one path, until `sort` did."""
    for path in range(30):
        for session in ("", "?session=1", "?session=2", "?session=3"):
            learning.fetch(f"/{path}{session}", 1000 + path)
    for value in range(4):
        learning.fetch(f"/list?page=1&sort={value}", 5000)
    learning.fetch("/list?page=1", 5000)
    learning.fetch("/list?page=1&sort=9", 6000)


@dataclass
class Browser:
    """A session, with the secret of its forms."""

    app: RunningApp
    cookie: str

    def get(self, path: str) -> Answer:
        return self.app.ask(path, headers={"Cookie": self.cookie, "Accept": "text/html"})

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/more").text)
        assert found is not None
        return found[1]

    def press(self, operation: str, **fields: str) -> Answer:
        """Post a form as a page has it; the answer leads back to the page it names."""
        fields = {"csrf": self.csrf(), "back": "/sites", **fields}
        return self.app.post_form(f"/do/{operation}", fields, Cookie=self.cookie)

    def told(self, operation: str, **fields: str) -> str:
        """What the page says after a form was posted."""
        answer = self.press(operation, **fields)
        assert answer.status == 303, (answer.status, answer.text[:500])
        assert answer.headers["location"] == "/sites"
        return notice(self.get("/sites"))


def notice(answer: Answer) -> str:
    found = re.search(r'<p class="notice[^>]*>(.*?)</p>', answer.text, re.S)
    assert found is not None, answer.text[:2000]
    return html.unescape(re.sub(r"<[^>]+>", "", found[1]))


def logged_in(app: RunningApp, token: str) -> Browser:
    answer = app.post_form("/login", {"token": token})
    assert answer.status == 303, answer.text[:500]
    name, morsel = next(iter(SimpleCookie(answer.headers["set-cookie"]).items()))
    return Browser(app, f"{name}={morsel.value}")


class _SmallSite(BaseHTTPRequestHandler):
    """Three pages that link to each other."""

    def do_GET(self) -> None:
        is_page = self.path in ("/", "/one", "/two")
        body = b'<title>Small</title><p>threads</p><a href="/one">one</a> <a href="/two">two</a>' if is_page else b""
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told: Any) -> None:
        pass


@contextmanager
def small_site() -> Iterator[str]:
    """A web server on loopback; its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _SmallSite) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def weft_up(home: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """All roles and the web app, as a user starts them."""
    sets = (
        f'web.listen="127.0.0.1:{port}"',
        "web.rate=100000",
        "urlserver.req_host_per_sec=20.0",
        "urlserver.req_ip_per_sec=40.0",
        "mgmt.heartbeat=0.5",
    )
    flags = [part for each in sets for part in ("--set", each)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    with (home.parent / "up.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "weft", "up", "--home", str(home), *flags], env=clean, stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def until(condition: Callable[[], Any], what: str, seconds: float = 90) -> Any:
    """What the condition gives once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"waited {seconds:.0f} s in vain: {what}")

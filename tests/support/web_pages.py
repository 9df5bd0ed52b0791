"""The web app over a home, asked as a browser asks; and a small crawled home with what pages may say to do harm."""

from __future__ import annotations

import asyncio
import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from support.crawled_home import fill_home, index_process
from weft.cli.invocation import Invocation
from weft.cli.run_web import web_resources
from weft.web.app import WebApp
from weft.web.limits import WebLimits

HUB = "https://hub.example/"
HOSTILE = "https://bad.example/?q=<script>alert(1)</script>&u=javascript:alert(2)"
SCRIPT = "<script>alert(3)</script>"
BIDI = "abc\u202edcba\u2066"
LONG = "w" * 10_000


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def words(self) -> str:
        """What a reader sees, without tags."""
        return " ".join(_Reader(self.text).words.split())

    @property
    def tags(self) -> list[tuple[str, dict[str, str]]]:
        return _Reader(self.text).tags

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def twin(self) -> str:
        """Where the same is answered to programs."""
        return next(found["href"] for tag, found in self.tags if tag == "link" and found.get("rel") == "alternate")


class _Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.words, self.tags = "", list[tuple[str, dict[str, str]]]()
        self.feed(text)

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self.words += " "


class Browser:
    def __init__(self, app: WebApp, cookie: str = "") -> None:
        self._app, self._cookie = app, cookie

    def get(self, address: str, accept: str = "text/html") -> Answered:
        return asyncio.run(self._get(address, accept))

    async def _get(self, address: str, accept: str) -> Answered:
        parts = urlsplit(address)
        sent: list[Any] = []
        headers = [(b"host", b"127.0.0.1:8000"), (b"accept", accept.encode()), (b"cookie", self._cookie.encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": parts.path, "raw_path": parts.path.encode(), "query_string": parts.query.encode(),
            "root_path": "", "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
        }  # fmt: skip

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app.asgi(scope, receive, send)
        found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return Answered(sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:]))


class Visitors(NamedTuple):
    nobody: Browser
    logged_in: Browser


@contextmanager
def web_over(home: Path) -> Iterator[Visitors]:
    web = web_resources(Invocation(home))
    try:
        app = WebApp(web, ("127.0.0.1", 8000), WebLimits())
        yield Visitors(Browser(app), Browser(app, f"weft_8000={web.sessions.begin()}"))
    finally:
        web.close()


def hub_page(links: int) -> bytes:
    items = "".join(f'<li><a href="https://site{n}.example/">site {n}</a>' for n in range(links))
    return f"<html lang=en><title>The hub</title><h1>All threads</h1><p>They meet here.<ul>{items}</ul>".encode()


def crawled_home(home: Path) -> Path:
    """A hub, thirty sites that reference it, and a page that says and does the worst."""
    words = html.escape(f"{SCRIPT} {BIDI} {LONG}")
    bad = (
        f"<title>{words}</title><meta name=description content='{words}'><h1>{words}</h1><p>{words}<script>x()</script>"
    )
    bad += f'<a href="{HUB}">{words}</a><a href="javascript:alert(4)" rel="&lt;b&gt;">run me</a>'
    pages = [(HUB, hub_page(30)), (HOSTILE, bad.encode())]
    link = f'<a href="{HUB}">the hub</a> <a rel=nofollow href="{html.escape(HOSTILE)}">bad</a>'
    pages += [(f"https://site{n}.example/", f"<title>Site {n}</title>{link}".encode()) for n in range(30)]
    count = fill_home(home, pages)
    with index_process(home) as index:
        index.until_built(count, 60)
    return home

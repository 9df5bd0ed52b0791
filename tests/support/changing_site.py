"""A small site on three hosts that lives by a clock: pages change, appear, move and vanish, and robots.txt changes.

Whatever it says follows from the time alone. It notes every request by that time, for the laws of politeness.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Final

from support.free_ports import free_port

HOSTS: Final = ("a.test", "b.test", "c.test")
PAGES: Final = 14
DAY: Final = 86_400.0
_ADDRESS: Final = "127.0.61.1"
_PERIODS: Final = (3, 8, 20, 60, 10_000)
"""Days after which a page's text and links change."""
_NEWS: Final = 6
"""Weeks that an article of the news stays."""
RETRY_AFTER: Final = 7200
_WORDS: Final = [f"{first}{last}" for first in "bdfgklmnprst" for last in ("amo", "eli", "iru")]


@dataclass(frozen=True)
class Answer:
    status: int
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Request:
    host: str
    path: str
    began: float
    ended: float
    status: int
    body: str


@dataclass
class ChangingSite:
    now: Callable[[], float]
    began: float
    requests: list[Request] = field(default_factory=list)
    """In the order in which they ended."""
    lock: Lock = field(default_factory=Lock)
    port: int = 0

    @property
    def start(self) -> str:
        return self.url(HOSTS[0], "/")

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def settings(self) -> str:
        """For the weft.toml of who crawls it."""
        names = ", ".join(f'"{host}" = "{_address(host)}"' for host in HOSTS)
        return f'static_hosts = {{ {names} }}\nallow_net = ["127.0.61.0/24"]\nallow_ports = [{self.port}]\n'

    def day(self) -> float:
        return (self.now() - self.began) / DAY

    def answer(self, host: str, path: str) -> Answer:
        day = self.day()
        if path == "/robots.txt":
            return _robots(host, day)
        if path == "/":
            links = [f"/p/{n}" for n in range(PAGES)] + ["/news"]
            return self._page(host, "/", 0, [self.url(host, link) for link in links] + self._starts())
        if path == "/news":
            weeks = range(max(0, int(day // 7) - _NEWS + 1), int(day // 7) + 1)
            return self._page(host, path, int(day // 7), [self.url(host, f"/news/{week}") for week in weeks])
        if found := re.fullmatch(r"/news/(\d+)", path):
            age = int(day // 7) - int(found[1])
            return self._page(host, path, 0, self._starts()) if 0 <= age < _NEWS else Answer(410, "over")
        if found := re.fullmatch(r"/p/(\d+)", path):
            return self._numbered(host, int(found[1]), day)
        return Answer(404, "nothing")

    def _numbered(self, host: str, number: int, day: float) -> Answer:
        dice = random.Random(f"{host} {number} {int(day)}")
        if host == "b.test" and dice.random() < 0.02:
            return Answer(503, "later", (("Retry-After", str(RETRY_AFTER)),))
        if host == "c.test" and dice.random() < 0.03:
            return Answer(500, "broken")
        if number % 7 == 3 and int(day // 60) % 2:
            return Answer(404, "gone for now")
        if number % 7 == 5 and int(day // 45) % 2:
            return Answer(301, headers=(("Location", self.url(host, f"/p/{(number + 1) % PAGES}")),))
        version = int(day // _PERIODS[number % len(_PERIODS)])
        choice = random.Random(f"{host} {number} {version}")
        links = [self.url(choice.choice(HOSTS), f"/p/{choice.randrange(PAGES)}") for _ in range(5)]
        return self._page(host, f"/p/{number}", version, links)

    def _starts(self) -> list[str]:
        return [self.url(host, "/") for host in HOSTS]

    def _page(self, host: str, path: str, version: int, links: list[str]) -> Answer:
        words = random.Random(f"words {host} {path} {version}").choices(_WORDS, k=120)
        anchors = "".join(f'<a href="{link}">{words[number]}</a> ' for number, link in enumerate(links))
        body = f"<html><title>{words[0]} {path} {version}</title><p>{' '.join(words)}</p>{anchors}</html>"
        return Answer(200, body, (("ETag", f'"{path}-{version}"'), ("Content-Type", "text/html")))


def forbidden(robots: str) -> str:
    """The one path prefix that a robots.txt of this site forbids; empty: none."""
    found = re.search(r"Disallow: (/\S+)", robots)
    return found[1] if found else ""


def _robots(host: str, day: float) -> Answer:
    if host == "c.test" and int(day // 3) % 11 == 5:
        return Answer(503, "no")
    if host == "a.test" and int(day // 20) % 3 == 2:
        return Answer(404, "none")
    prefix = f"/p/{int(day // 30) % PAGES}"
    return Answer(200, f"User-agent: *\nDisallow: {prefix}\n", (("Content-Type", "text/plain"),))


def _address(host: str) -> str:
    return f"{_ADDRESS[:-1]}{HOSTS.index(host) + 1}"


@contextmanager
def changing_site(now: Callable[[], float]) -> Iterator[ChangingSite]:
    site = ChangingSite(now, now())
    site.port = free_port(_ADDRESS)
    servers = [ThreadingHTTPServer((_address(host), site.port), _handler(site)) for host in HOSTS]
    for server in servers:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield site
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def _handler(site: ChangingSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_GET(self) -> None:
            began, host = site.now(), self.headers["Host"].partition(":")[0]
            answer = site.answer(host, self.path)
            tag = dict(answer.headers).get("ETag")
            if tag and self.headers.get("If-None-Match") == tag:
                answer = Answer(304, "", answer.headers)
            body = answer.body.encode()
            with site.lock:  # before whoever asked can ask again
                site.requests.append(Request(host, self.path, began, site.now(), answer.status, answer.body))
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            if answer.status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def rude(requests: list[Request], gap: float, moved: float) -> list[str]:
    """What was wrong with requests, by the time that the site lives by.

    `moved`: by how many seconds the wall clock was set at most, in either direction: waits that are kept by it in the
    control plane may be so much shorter, and a robots.txt so much older.
    """
    wrong, robots, last, rest = [], dict[str, Request](), dict[str, Request](), dict[str, float]()
    good: dict[str, Request] = {}
    for request in sorted(requests, key=lambda each: each.began):
        host, told = request.host, f"{request.host}{request.path} at {request.began:.3f}"
        if host in last and request.began - last[host].ended < gap - 0.005:
            wrong.append(f"{told}: {request.began - last[host].ended:.3f} s after {last[host].path}")
        last[host] = request
        if request.path == "/robots.txt":
            robots[host] = request
            if request.status != 503:
                good[host] = request
            continue
        if host not in robots or request.began - robots[host].ended > DAY + moved:
            wrong.append(f"{told}: without a robots.txt of the last day")
        elif robots[host].status == 503 and (host not in good or request.began - good[host].ended > DAY + moved):
            wrong.append(f"{told}: its robots.txt could not be had")
        elif (prefix := forbidden(good[host].body)) and request.path.startswith(prefix):
            wrong.append(f"{told}: forbidden: {prefix}")
        if request.began < rest.get(host, 0.0) - moved:
            wrong.append(f"{told}: it asked for patience")
        if request.status == 503:
            rest[host] = request.ended + RETRY_AFTER
    return wrong

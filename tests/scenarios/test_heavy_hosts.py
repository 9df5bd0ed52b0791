"""One host whose pages take long to build: the others keep their rate, and a limit in time holds.

What is compared happened in the same run, because the machine may be busy with something else.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from support.weft_command import weft

GOOD = {f"good{n}.good": f"127.0.35.{n + 1}" for n in range(6)}
EVIL = {"evil.evil": "127.0.35.99"}
PAGES = 120
SECONDS = 30


class Answers(BaseHTTPRequestHandler):
    """`good` hosts have small pages; those of `evil.evil` have as many entries as a page may have."""

    protocol_version = "HTTP/1.1"
    kind: ClassVar[str] = "links"
    entries: ClassVar[int] = 45_000
    asked: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        host, path = self.headers["Host"], self.path
        name = host.partition(":")[0]
        self.asked[name] += path != "/robots.txt"
        content_type, body = self._answer(f"http://{host}", name, path)
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def _answer(self, origin: str, name: str, path: str) -> tuple[str, str]:
        if path == "/robots.txt":
            has_sitemap = name in EVIL and self.kind == "sitemaps"
            return "text/plain", f"Sitemap: {origin}/sm.xml\n" if has_sitemap else ""
        if name in GOOD:
            return "text/html", f"<title>{name}{path}</title>" + _links(f"/q{n}" for n in range(PAGES))
        return self._heavy_answer(origin, path, random.randrange(10**9))

    def _heavy_answer(self, origin: str, path: str, some: int) -> tuple[str, str]:
        numbers = range(self.entries)
        if path.startswith("/sm"):
            inner = (f"<sitemap><loc>{origin}/sm{some}-{n}.xml</loc></sitemap>" for n in numbers)
            return "application/xml", f"<sitemapindex>{''.join(inner)}</sitemapindex>"
        if path.startswith("/feed"):
            items = (f"<item><link>http://x{some}.victim{n}.com/</link></item>" for n in numbers)
            return "application/rss+xml", f"<rss>{''.join(items)}</rss>"
        if self.kind == "links":
            return "text/html", "<title>x</title>" + _links(f"/b{some}-{n}" for n in numbers)
        return "text/html", _links(f"/feed{some}-{n}.xml" for n in range(20 * (self.kind == "feed")))

    def log_message(self, *_: object) -> None:
        pass


def _links(paths: Iterator[str]) -> str:
    return "".join(f"<a href={path}>x</a>" for path in paths)


@contextmanager
def served() -> Iterator[int]:
    with ExitStack() as open_servers:
        port = 0
        for address in (*GOOD.values(), *EVIL.values()):
            server = open_servers.enter_context(ThreadingHTTPServer((address, port), Answers))
            port = server.server_address[1]
            Thread(target=server.serve_forever, daemon=True).start()
            open_servers.callback(server.shutdown)
        yield port


def crawled(place: Path, port: int, hosts: dict[str, str], *arguments: str) -> dict[str, object]:
    """The summary of a crawl with a limit in time, for which `weft` waits two minutes.

    `Answers.asked` counts what it fetched.
    """
    Answers.asked.clear()
    place.mkdir()
    known = ", ".join(f'"{name}" = "{ip}"' for name, ip in {**GOOD, **EVIL}.items())
    (place / "weft.toml").write_text(
        f'[urlserver]\nstatic_hosts = {{ {known} }}\nallow_net = ["127.0.35.0/24"]\nallow_ports = [{port}]\n'
        'req_host_per_sec = 2.0\ndns_servers = ["127.0.35.200:53"]\ndns_timeout = 0.5\n'
    )
    seeds = [f"http://{name}:{port}/" for name in hosts]
    limits = ["--seconds", str(SECONDS), "--set", "web.serve=false", "--json"]
    done = weft("crawl", *seeds, "--scope", "any", *limits, "--home", str(place), *arguments, cwd=place.parent)
    assert done.returncode == 0, done.stderr
    summary: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return summary


def good_pages() -> int:
    return sum(Answers.asked[name] for name in GOOD)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["links", "sitemaps", "feed"])
def test_a_heavy_host_takes_no_rate_from_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(Answers, "kind", kind)
    with served() as port:
        alone, beside = 0, 0
        for number in range(2):
            crawled(tmp_path / f"alone{number}", port, GOOD)
            alone += good_pages()
            crawled(tmp_path / f"beside{number}", port, {**GOOD, **EVIL})
            beside += good_pages()
            assert Answers.asked["evil.evil"] > 1
    assert beside >= 0.9 * alone

"""Servers that say "slower": the crawl obeys, gets every page, and tells what it could not get."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from threading import Lock, Thread
from typing import ClassVar

import pytest

from support.nginx import NginxSite, running_nginx
from support.weft_command import weft


class Bucket:
    """As many requests as there are tokens, which come at a steady rate."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._rate, self._most, self._tokens, self._at = per_second, burst, burst, time.monotonic()
        self._lock = Lock()

    def takes(self) -> bool:
        with self._lock:
            now = time.monotonic()
            self._tokens = min(self._most, self._tokens + (now - self._at) * self._rate)
            self._at = now
            self._tokens -= (is_taken := self._tokens >= 1)
            return is_taken


class Answers(BaseHTTPRequestHandler):
    """A home page and pages below it. `slow.test` has a token bucket, the others answer as their name says."""

    protocol_version = "HTTP/1.1"
    pages: ClassVar[int] = 0
    bucket: ClassVar[Bucket]
    retry_after: ClassVar[str] = ""
    said: ClassVar[list[tuple[str, str, int, float]]]
    """(host, path, status, moment)"""

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").partition(".")[0]
        status = 404 if self.path in ("/robots.txt", "/missing") else 500 if self.path == "/broken" else 200
        if (host == "slow" and not self.bucket.takes()) or (host in ("never", "later") and self.path != "/robots.txt"):
            status = 429
        after = {"later": "3600", "never": ""}.get(host, self.retry_after)
        self.said.append((host, self.path, status, time.monotonic()))
        links = "".join(f'<a href="/{page}">{page}</a>' for page in range(self.pages))
        body = f"<h1>{self.path}</h1><p>a page of its own {self.path}</p>{links}<a href='/missing'>x</a>".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if status == 429 and after:
            self.send_header("Retry-After", after)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(pages: int, bucket: Bucket, retry_after: str = "") -> Iterator[tuple[int, type[Answers]]]:
    facts = {"pages": pages, "bucket": bucket, "retry_after": retry_after, "said": []}
    handler = type("Served", (Answers,), facts)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, handler
        server.shutdown()


def sets(port: int, rate: float, **more: object) -> list[str]:
    static = ", ".join(f'"{name}.test" = "127.0.0.1"' for name in ("slow", "never", "later", "good"))
    wanted = {
        "urlserver.allow_net": '["127.0.0.0/8"]',
        "urlserver.allow_ports": f"[{port}]",
        "urlserver.static_hosts": f"{{{static}}}",
        "urlserver.req_host_per_sec": rate,
        "urlserver.req_ip_per_sec": 1000,
        "mgmt.chunk_linger": 0.2,
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    return [part for name, value in wanted.items() for part in ("--set", f"{name}={value}")]


def crawl(place: Path, port: int, *hosts: str, rate: float = 20, **more: object) -> CompletedProcess[str]:
    urls = [f"http://{host}.test:{port}/" for host in hosts]
    return weft("crawl", *urls, "--home", "home", *sets(port, rate, **more), cwd=place)


def test_every_page_that_was_refused_for_haste_is_fetched_within_the_crawl(tmp_path: Path) -> None:
    with served(12, Bucket(3, 2), retry_after="1") as (port, web):
        done = crawl(tmp_path, port, "slow", "good")
    refused = [path for host, path, status, _ in web.said if status == 429]
    fetched = {(host, path) for host, path, status, _ in web.said if status == 200}
    assert refused, "the server said slower"
    assert len(fetched) == 2 * 13, done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Crawl finished: 26 pages" in done.stdout
    assert "2 answered 404" in done.stdout, "what is no page is not counted as crawled without a word"
    assert max(Counter(refused).values()) <= 5


def test_it_says_what_it_could_not_get_from_a_server_that_never_gives_in(tmp_path: Path) -> None:
    with served(3, Bucket(1000, 1000)) as (port, web):
        waits = {"urlserver__backoff_first": 0.2, "dispatcher__retry_patience": 5, "urlserver__backoff_max": 60}
        done = crawl(tmp_path, port, "never", "good", **waits)
    tries = [path for host, path, status, _ in web.said if host == "never" and status == 429]
    assert tries == ["/"] * 5, "five tries"
    assert done.returncode == 1, done.stdout
    assert "1 page could not be had: 429." in done.stdout
    assert "never.test" in done.stdout, "the seed"
    assert "Crawl finished: 4 pages" in done.stdout


def test_a_crawl_does_not_wait_for_an_hour(tmp_path: Path) -> None:
    with served(3, Bucket(1000, 1000)) as (port, web):
        done = crawl(tmp_path, port, "later")
        again = crawl(tmp_path, port, "later")
    assert [path for _, path, status, _ in web.said if status == 429] == ["/"], "its wish holds for the next crawl too"
    assert (done.returncode, again.returncode) == (1, 1)
    assert "1 page could not be had: 429." in done.stdout
    assert "None of the seeds gave a page." in done.stdout
    assert "None of the seeds gave a page." in again.stdout
    assert "weft top" not in done.stdout


def settled(said: list[tuple[int, float]], limit: float) -> None:
    """The last half of all answers, as (status, moment), came near the limit and with few refusals."""
    last = said[len(said) // 2 :]
    clean = sum(status < 400 for status, _ in last)
    rate, refusals = clean / (last[-1][1] - last[0][1]), len(last) - clean
    print(f"{rate:.2f}/s of {limit}/s, {refusals} refusals of {len(last)} requests")
    assert 0.7 * limit < rate <= 1.02 * limit
    assert refusals <= 5


@pytest.mark.long
@pytest.mark.parametrize("retry_after", ["", "3"])
def test_it_settles_near_the_rate_that_a_token_bucket_allows(tmp_path: Path, retry_after: str) -> None:
    with served(320, Bucket(5.0, 5), retry_after) as (port, web):
        done = crawl(tmp_path, port, "slow", rate=10)
    assert done.returncode == 0, done.stdout
    assert "Crawl finished: 321 pages" in done.stdout
    settled([(status, moment) for _, _, status, moment in web.said], 5.0)


@pytest.mark.long
def test_it_settles_near_the_limit_of_a_real_nginx(tmp_path: Path, nginx_program: Path) -> None:
    pages = {f"/{number}.html": f"<title>{number}</title><p>page {number}" for number in range(320)}
    pages["/"] = "".join(f'<a href="/{number}.html">{number}</a>' for number in range(320))
    site = NginxSite("limited.test", pages=pages, rate=5, burst=1)
    with running_nginx(nginx_program, tmp_path / "nginx", site) as nginx:
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        (home / "weft.toml").write_text(nginx.settings_text + "req_host_per_sec = 10.0\nreq_ip_per_sec = 1000.0\n")
        done = weft("crawl", nginx.url("limited.test"), "--home", "home", cwd=tmp_path)
        said = [(request.status, request.seconds) for request in nginx.requests()]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Crawl finished: 321 pages" in done.stdout
    settled(said, 5.0)


@pytest.mark.long
def test_a_crawl_that_was_killed_while_a_host_waits_goes_on_when_the_wait_is_over(tmp_path: Path) -> None:
    with served(12, Bucket(2, 2), retry_after="5") as (port, web):
        running = subprocess.Popen(
            [sys.executable, "-m", "weft", "crawl", f"http://slow.test:{port}/", "--home", "home", *sets(port, 20)],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not (refused := [moment for _, _, status, moment in web.said if status == 429]):
            assert running.poll() is None
            time.sleep(0.05)
        running.kill()
        running.wait()
        before = len(web.said)
        done = crawl(tmp_path, port, "slow")
        later = [moment for _, _, _, moment in web.said[before:]]
        fetched = {path for _, path, status, _ in web.said if status == 200}
    assert done.returncode == 0, done.stdout
    assert len(fetched) == 13
    assert min(later) - refused[-1] >= 5, "its wish was kept over the kill"

"""What `weft crawl` says of URLs that give nothing: a reason for each, and it comes to its end."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from support.weft_command import one_sentence, weft
from weft.cli.crawl_facts import duration
from weft.model.fetch_error import FetchError

HOSTS = ("closed", "moved", "missing", "good", "busy", "dead")


class Answers(BaseHTTPRequestHandler):
    """Each host has one way to be."""

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").partition(".")[0]
        if self.path == "/robots.txt":
            status = {"closed": 200, "busy": 503}.get(host, 404)
            self.answer(status, b"User-agent: *\nDisallow: /\n" if host == "closed" else b"")
        elif host == "moved":
            self.answer(301, b"", Location="https://elsewhere.test/")
        elif host == "missing":
            self.answer(404, b"")
        else:
            self.answer(200, b"<p>hello")

    def answer(self, status: int, body: bytes, **fields: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def sets(*ports: int) -> list[str]:
    hosts = ", ".join(f'"{name}.test" = "127.0.0.1"' for name in HOSTS)
    wanted = (
        'allow_net=["127.0.0.0/8"]',
        f"allow_ports=[80, 443, {', '.join(map(str, ports))}]",
        f"static_hosts={{{hosts}}}",
        "req_host_per_sec=20.0",
        "req_ip_per_sec=100.0",
        "backoff_first=0.5",
    )
    return [part for text in wanted for part in ("--set", f"urlserver.{text}")]


def test_every_seed_without_a_page_is_told_with_its_reason(tmp_path: Path) -> None:
    with answering() as port, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # held, and not listened at: connections are refused
        dead = nobody.getsockname()[1]
        urls = [f"http://{name}.test:{port}/" for name in HOSTS[:-1]]
        urls += [f"http://dead.test:{dead}/", "http://nowhere.invalid/", "http://192.0.2.1/"]
        done = weft("crawl", *urls, "ftp://a.test/", "--home", "home", *sets(port, dead), cwd=tmp_path)
    assert done.returncode == 1, "whoever was busy or could not be reached may be there later"
    assert "'ftp://a.test/' refused" in done.stderr
    said = dict(line.removeprefix("Seed ").split(": ", 1) for line in done.stdout.splitlines() if line[:5] == "Seed ")
    assert said == {
        f"http://closed.test:{port}/": "its robots.txt does not allow it (robots)",
        f"http://moved.test:{port}/": "status 301, leads to https://elsewhere.test/, which is out of scope",
        f"http://missing.test:{port}/": "status 404",
        f"http://busy.test:{port}/": "its robots.txt could not be fetched: status 503 (robots)",
        f"http://dead.test:{dead}/": "its server accepts no connection (connect)",
        "http://nowhere.invalid/": "there is no such host (unknown_host)",
        "http://192.0.2.1/": f"{FetchError.PRIVATE_ADDRESS.sentence} (private_address)",
    }
    assert "1 page in" in done.stdout
    assert "`weft top --home home` shows" in done.stdout


def test_nothing_to_crawl_is_told(tmp_path: Path) -> None:
    refused = weft("crawl", "ftp://a.com/", "--home", "home", cwd=tmp_path)
    assert refused.returncode == 2
    assert "none of the URLs can be crawled" in refused.stderr
    nothing = weft("crawl", "--home", "other", cwd=tmp_path)
    assert nothing.returncode == 2
    assert "nothing to crawl" in nothing.stderr


def test_a_home_whose_sites_are_all_excluded_has_nothing_to_crawl(tmp_path: Path) -> None:
    weft("add", "http://a.test/", "--home", "home", cwd=tmp_path)
    weft("sites", "a.test", "--exclude", "--home", "home", cwd=tmp_path)
    nothing = weft("crawl", "--home", "home", cwd=tmp_path)
    assert nothing.returncode == 2
    assert "every site of this home is excluded" in one_sentence(nothing)


@pytest.mark.parametrize(("seconds", "text"), [(5.4, "5 s"), (119, "2 min"), (9000, "2.5 h")])
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text

"""A person who corrects a command is obeyed: real processes, real sockets, an authority of our own."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.certificates import Authority
from support.weft_command import one_sentence, weft

PAGE = '<html><title>page</title><a href="/more">more</a></html>'


class Web(ThreadingHTTPServer):
    """`www.` is the site, other names redirect to it; `auth.test` wants a password, `star.test` leads to others."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.requests: list[str] = []
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def handle_error(self, *_: object) -> None:
        """Clients that do not trust us hang up."""


class _Answer(BaseHTTPRequestHandler):
    server: Web
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.headers["Host"].partition(":")[0]
        password = self.headers.get("Authorization", "")
        self.server.requests.append(f"{name}{self.path}{' with a password' if password else ''}")
        if self.path == "/robots.txt":
            self._send(404)
        elif name == "apex.test":
            self._send(301, Location=f"http://www.apex.test:{self.server.server_port}{self.path}")
        elif name == "auth.test" and not password:
            self._send(401)
        elif name == "star.test" and self.path == "/moved":
            self._send(301, Location="http://*/")
        elif name == "star.test":
            self._send(200, f'{PAGE}<a href="http://stranger.test:{self.server.server_port}/">elsewhere</a>')
        else:
            self._send(200, PAGE)

    def _send(self, status: int, body: str = "", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    with Web(tls) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()


def sets(*more: str) -> list[str]:
    allowed = 'urlserver.allow_net=["127.0.0.0/8"]', 'urlserver.static_hosts={"*.test"="127.0.0.1"}'
    texts = (*allowed, "urlserver.req_host_per_sec=50.0", "urlserver.backoff_first=0.1", *more)
    return [part for text in texts for part in ("--set", text)]


def test_localhost_is_crawled_with_its_port_after_one_flag(tmp_path: Path) -> None:
    with served() as web:
        url = f"http://localhost:{web.server_port}/"
        refused = weft("crawl", url, "--home", "home", "--set", 'urlserver.hosts_file=""', cwd=tmp_path, stdin="")
        assert refused.returncode == 2
        assert "localhost is always this machine); add --local if you mean it" in refused.stderr
        assert web.requests == []
        done = weft("crawl", url, "--local", "--home", "home", "--set", "urlserver.req_host_per_sec=50.0", cwd=tmp_path)
        assert "Crawl finished: 2 pages" in done.stdout, done.stdout + done.stderr
        assert web.requests == ["localhost/robots.txt", "localhost/", "localhost/more"]


def test_an_apex_leads_to_its_site_and_what_failed_is_tried_again_with_a_password(tmp_path: Path) -> None:
    with served() as web:
        apex, guarded = (f"http://{name}:{web.server_port}/" for name in ("apex.test", "auth.test"))
        weft("add", apex, guarded, "--home", "home", *sets(), cwd=tmp_path)
        weft("sites", f"apex.test:{web.server_port}", "--setting", "auth=me:secret", "--home", "home", cwd=tmp_path)
        first = weft("crawl", "--home", "home", *sets(), cwd=tmp_path)
        host = f"www.apex.test:{web.server_port}"
        assert f"Scope: {apex} redirects to {host}, which is crawled too, without credentials." in first.stdout
        assert f"Seed {guarded}: status 401" in first.stdout
        assert "apex.test/ with a password" in web.requests
        assert {"www.apex.test/", "www.apex.test/more"} <= set(web.requests)
        listed = json.loads(weft("sites", host, "--json", "--home", "home", cwd=tmp_path).stdout)
        assert listed["items"][0]["led_from"] == apex
        web.requests.clear()
        weft("sites", f"auth.test:{web.server_port}", "--setting", "auth=me:secret", "--home", "home", cwd=tmp_path)
        weft("crawl", "--home", "home", *sets(), cwd=tmp_path)
        asked = [f"auth.test{path} with a password" for path in ("/robots.txt", "/", "/more")]
        assert web.requests == asked, "what worked before is not asked again"


def test_a_certificate_fault_is_named_though_it_hits_robots_txt_and_is_over_when_its_authority_is_trusted(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    with served(authority.server("tls.test")) as web:
        url = f"https://tls.test:{web.server_port}/"
        untrusted = weft("crawl", url, "--home", "home", *sets(), cwd=tmp_path)
        assert "Errors: 1 tls_authority" in untrusted.stdout, untrusted.stdout
        assert f"Seed {url}: its certificate is from an unknown authority" in untrusted.stdout
        why = weft("why", url, "--home", "home", cwd=tmp_path).stdout
        assert "its certificate is from an unknown authority" in why
        assert "robots.txt: refused by 'robots.txt could not be fetched: its certificate is from an unknown auth" in why
        ca = f'spider.ca_file="{authority.file}"'
        trusted = weft("crawl", "--home", "home", *sets(ca), cwd=tmp_path)
        assert "Crawl finished: 2 pages" in trusted.stdout, trusted.stdout + trusted.stderr


def test_no_url_opens_the_crawl_to_all_sites(tmp_path: Path) -> None:
    with served() as web:
        settings = ["--home", "home", *sets(f"urlserver.allow_ports=[{web.server_port}]")]
        seed = f"http://star.test:{web.server_port}/"
        weft("crawl", seed, f"{seed}moved", *settings, cwd=tmp_path)
        for typed in ("http://*/", "http://*.test/"):
            run = weft("add", typed, *settings, cwd=tmp_path)
            assert (run.returncode, run.stdout) == (2, "0 URLs added, 0 already known, 1 refused\n"), run.stdout
            assert "has '*' in its host; expected letters, digits, -, _ and dots there" in one_sentence(run)
        done = weft("crawl", "--again", "0", *settings, cwd=tmp_path)
        assert "Crawl finished" in done.stdout, done.stdout + done.stderr
        (site,) = json.loads(weft("sites", "--json", "--home", "home", cwd=tmp_path).stdout)["items"]
        assert (site["name"], site["scope"]) == (f"star.test:{web.server_port}", "hosts")
        assert {request.partition("/")[0] for request in web.requests} == {"star.test"}
        weft("sites", "*", "--scope", "any", "--home", "home", cwd=tmp_path)
        weft("crawl", *settings, cwd=tmp_path)
        assert "stranger.test/" in web.requests, "whoever says so opens it"


def test_bad_seeds_get_one_sentence(tmp_path: Path) -> None:
    run = weft("add", "http://10.0.0.1/", "--home", "home", cwd=tmp_path, stdin="")
    assert run.returncode == 2
    assert "10.0.0.1 is in 10.0.0.0/8 (private)" in run.stderr
    assert one_sentence(weft("add", "--home", "home", cwd=tmp_path))

"""The sites of `weft bench searchquality`: served on loopback, crawled by weft."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote, urlsplit

from crawl import HURRY

_HURRY = {
    **HURRY,
    "WEFT_URLSERVER_REQ_HOST_CONCURRENT": "16",
    # There are few hosts, so the gap between two requests to one of them decides.
    "WEFT_URLSERVER_SPIDER_LAG": "0.0",
    "WEFT_URLSERVER_QUEUE_LEN": "5000",
    "WEFT_URLSERVER_MAX_PER_IP": "50000",
}


class _Pages(BaseHTTPRequestHandler):
    """Files by host and path; a sitemap names them all, since some are linked from nowhere else."""

    protocol_version = "HTTP/1.1"
    # Header and body leave together: apart, the second waits until the first is acknowledged.
    wbufsize = -1
    disable_nagle_algorithm = True
    root: Path

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").lower()
        path, query = unquote(urlsplit(self.path).path), urlsplit(self.path).query
        directory = self.root / host.partition(":")[0]
        if path == "/robots.txt":
            self._answer(200, f"User-agent: *\nAllow: /\nSitemap: http://{host}/sitemap.xml\n".encode(), "text/plain")
        elif path == "/sitemap.xml":
            self._answer(200, _sitemap(host, directory), "application/xml")
        elif path.endswith("/"):
            self._answer(301, b"", "text/html", path + "index.html")
        elif query:
            # Javadoc names pages in the query of others; each would be a copy.
            self._answer(301, b"", "text/html", path)
        elif path.endswith(".html") and ".." not in path and (file := directory / path[1:]).is_file():
            self._answer(200, file.read_bytes(), "text/html")
        else:
            self._answer(404, b"", "text/html")

    def _answer(self, status: int, body: bytes, kind: str, location: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _sitemap(host: str, directory: Path) -> bytes:
    paths = sorted(file.relative_to(directory).as_posix() for file in directory.rglob("*.html"))
    places = "".join(f"<url><loc>http://{host}/{quote(path)}</loc></url>" for path in paths)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'.encode()


@contextmanager
def serving(root: Path) -> Iterator[int]:
    """Serve the directories below `root` as hosts; gives the port."""
    handler = type("Pages", (_Pages,), {"root": root})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def crawl(served: Path, home: Path, port_file: Path) -> None:
    """Crawl the hosts below `served` into a new `home`; the port that is in their URLs is kept in `port_file`."""
    shutil.rmtree(home, ignore_errors=True)
    port_file.unlink(missing_ok=True)
    home.mkdir(mode=0o700, parents=True)
    hosts = sorted(directory.name for directory in served.iterdir())
    with serving(served) as port:
        (home / "weft.toml").write_text(_settings(hosts, port))
        seeds = [f"http://{host}:{port}/index.html" for host in hosts]
        command = [sys.executable, "-m", "weft", "crawl", *seeds, "--scope", "hosts", "--home", str(home)]
        done = subprocess.run(
            command, env={**os.environ, **_HURRY}, capture_output=True, text=True, timeout=1800, check=False
        )
    if done.returncode:
        raise SystemExit(f"weft crawl failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    port_file.write_text(str(port))


def _settings(hosts: Sequence[str], port: int) -> str:
    names = "".join(f'"{host}" = "127.0.0.1"\n' for host in hosts)
    allowed = f'[urlserver]\nallow_net = ["127.0.0.0/8"]\nallow_ports = [80, 443, {port}]\n'
    return f"{allowed}\n[urlserver.static_hosts]\n{names}"

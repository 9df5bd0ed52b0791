"""A small website with ETags, whose answers a test gives byte for byte: pages, files, gzip, chunks, types."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

HOST = "site.test"


@dataclass
class Resource:
    body: bytes
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    is_gzip: bool = False
    is_chunked: bool = False
    has_etag: bool = True
    length: int | None = None
    """What Content-Length says, if that is not the truth: then the connection is closed after the body."""

    @property
    def sent(self) -> bytes:
        return gzip.compress(self.body, mtime=0) if self.is_gzip else self.body

    @property
    def etag(self) -> str:
        return f'"{sha256(self.body).hexdigest()[:16]}"'


@dataclass
class ValidatingWeb:
    port: int = 0
    resources: dict[str, Resource] = field(default_factory=dict)
    answered: list[tuple[str, int]] = field(default_factory=list)
    """Path and status of every request, in order."""

    def url(self, path: str = "/") -> str:
        return f"http://{HOST}:{self.port}{path}"

    def statuses(self, start: int = 0) -> dict[str, int]:
        """The last status of each path, of the requests from number `start` on; robots.txt is left out."""
        return {path: status for path, status in self.answered[start:] if path != "/robots.txt"}

    def make_home(self, home: Path) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        (home / "weft.toml").write_text(
            f'[urlserver]\nallow_net = ["127.0.0.0/8"]\nallow_ports = [{self.port}]\n'
            f'req_host_per_sec = 100.0\nreq_ip_per_sec = 100.0\n\n[urlserver.static_hosts]\n"{HOST}" = "127.0.0.1"\n'
        )


@contextmanager
def validating_web(resources: dict[str, Resource]) -> Iterator[ValidatingWeb]:
    web = ValidatingWeb(resources=resources)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = web.resources.get(self.path, Resource(b"no such page", "text/plain", 404, has_etag=False))
            is_known = found.has_etag and self.headers.get("If-None-Match") == found.etag
            status = 304 if is_known else found.status
            self.send_response(status)
            if found.has_etag:
                self.send_header("ETag", found.etag)
            if is_known:
                self.end_headers()
            else:
                self._send(found)
            web.answered.append((self.path, status))

        def _send(self, found: Resource) -> None:
            for line in found.kind.split("\n"):
                self.send_header("Content-Type", line)
            if found.is_gzip:
                self.send_header("Content-Encoding", "gzip")
            sent = found.sent
            if found.is_chunked:
                self.send_header("Transfer-Encoding", "chunked")
                pieces = [sent[at : at + 100] for at in range(0, len(sent), 100)]
                sent = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
            else:
                self.send_header("Content-Length", str(len(sent) if found.length is None else found.length))
            self.end_headers()
            self.wfile.write(sent)
            self.close_connection = found.length is not None

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

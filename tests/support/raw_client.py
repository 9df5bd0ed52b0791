"""A small HTTP client on raw sockets: sees every byte, follows nothing, hides nothing."""

from __future__ import annotations

import gzip
import socket
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import brotli  # type: ignore[import-untyped]
from zstandard import ZstdDecompressor

from weft.demo.web.server.serving import Served

AGENT = "weft/test"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def content(self) -> bytes:
        """The body, decoded."""
        encoding = self.headers.get("content-encoding")
        if encoding == "gzip":
            return gzip.decompress(self.body)
        if encoding == "br":
            return brotli.decompress(self.body)
        return ZstdDecompressor().decompress(self.body) if encoding == "zstd" else self.body

    @property
    def is_html(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/html")


@dataclass
class Connection:
    """A connection to the host of `url`; may be used for several requests."""

    served: Served
    url: str
    buffer: bytes = b""
    sock: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        host = self.served.world.hosts.named(parts.hostname or "")
        address = host.address if host else "127.0.0.1"
        self.sock = socket.create_connection((address, parts.port or 80), timeout=20)
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=str(self.served.ca_file))
            self.sock = context.wrap_socket(self.sock, server_hostname=parts.hostname)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, url: str, method: str = "GET", agent: str = AGENT, **headers: str) -> None:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        given = {"Host": parts.netloc, "User-Agent": agent, **{k.replace("_", "-"): v for k, v in headers.items()}}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value), "", ""]
        self.sock.sendall("\r\n".join(lines).encode())

    def more(self) -> bool:
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def head(self) -> tuple[int, dict[str, str]]:
        while b"\r\n\r\n" not in self.buffer:
            assert self.more(), "the connection ended before the head did"
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return int(first.split()[1]), headers

    def receive(self, method: str = "GET") -> Answer:
        status, headers = self.head()
        length = 0 if method == "HEAD" or status == 304 else int(headers["content-length"])
        while len(self.buffer) < length:
            assert self.more(), "the connection ended before the body did"
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Answer(status, headers, body)


def get(served: Served, url: str, method: str = "GET", agent: str = AGENT, **headers: str) -> Answer:
    """One request on a connection of its own."""
    with Connection(served, url) as connection:
        connection.send(url, method, agent, **headers)
        return connection.receive(method)

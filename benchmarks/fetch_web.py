"""The pages that all contestants of `weft bench fetch` get: made before the clock starts, sent as fast as possible.

`python fetch_web.py PAGES [CERTIFICATE]` prints its port and serves until it is killed. Page N links to 40 others, so
that following links from page 0 reaches all. `/c/N` is page N over a connection that is closed afterwards.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import sys

import uvloop
from isal import isal_zlib

HOSTS = 20
LINKS = 40


def host_of(number: int) -> str:
    return f"127.0.0.{1 + number % HOSTS}"


def url_of(number: int, port: int, scheme: str = "http", kind: str = "p") -> str:
    return f"{scheme}://{host_of(number)}:{port}/{kind}/{number}"


class Pages:
    """All responses, gzip-encoded, about 30 KB of HTML each."""

    def __init__(self, count: int, port: int, scheme: str) -> None:
        dice = random.Random(1)
        words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(4000)]
        texts = [" ".join(dice.choices(words, k=110)) for _ in range(400)]
        self._kept: list[bytes] = []
        self._closed: list[bytes] = []
        for number in range(count):
            body = isal_zlib.compress(self._html(number, count, texts, port, scheme).encode(), 2, 31)
            self._kept.append(_response(body, b""))
            self._closed.append(_response(body, b"Connection: close\r\n"))

    def response(self, path: bytes) -> tuple[bytes, bool]:
        """The answer to a path such as /p/17?x, and whether the connection ends with it."""
        kind, _, number = path[1:].partition(b"?")[0].partition(b"/")
        closes = kind == b"c"
        return (self._closed if closes else self._kept)[int(number)], closes

    def _html(self, number: int, count: int, texts: list[str], port: int, scheme: str) -> str:
        parts = [f"<!doctype html><html><head><title>Page {number}</title></head><body>"]
        for place in range(LINKS):
            target = (number * LINKS + place + 1) % count
            text = texts[(number * 7 + place) % len(texts)]
            parts.append(f'<p>{text} <a href="{url_of(target, port, scheme)}">page {target}</a></p>')
        return "".join([*parts, "</body></html>"])


def _response(body: bytes, extra: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 02 Feb 2026 10:00:00 GMT\r\n"
        b"Content-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
        b"Cache-Control: max-age=60\r\n%bContent-Length: %d\r\n\r\n%b" % (extra, len(body), body)
    )


class Server(asyncio.Protocol):
    pages: Pages

    def __init__(self) -> None:
        self._begun = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        *requests, self._begun = (self._begun + data).split(b"\r\n\r\n")
        for request in requests:
            response, closes = self.pages.response(request.split(b" ", 2)[1])
            self._transport.write(response)
            if closes:
                self._transport.close()


async def serve(count: int, certificate: str) -> None:
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    # First the port, then the pages, which hold it in their links.
    server = await loop.create_server(Server, "0.0.0.0", 0, ssl=context, backlog=4096)
    port = server.sockets[0].getsockname()[1]
    Server.pages = Pages(count, port, "https" if certificate else "http")
    print(port, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))

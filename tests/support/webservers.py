"""Web servers written byte by byte: what they send is what the test says, right or wrong."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Conversation = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class WebServer:
    """Hands each request, as it came, to the conversation of its path; unknown paths get a small page."""

    port: int = 0
    scheme: str = "http"
    conversations: dict[str, Conversation] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0

    def url(self, path: str, host: str = "a.test") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def answers(self, path: str, *pieces: bytes, close: bool = False) -> None:
        """Answer a path with exactly these bytes."""

        async def conversation(_: bytes, writer: asyncio.StreamWriter) -> None:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            if close:
                writer.close()

        self.conversations[path] = conversation

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                request = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(request)
                path = request.split(b" ", 2)[1].decode()
                await self.conversations.get(path, page)(request, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def page(request: bytes, writer: asyncio.StreamWriter) -> None:
    body = b"<html><title>page</title>" + request.split(b" ", 2)[1] + b"</html>"
    writer.write(ok(body, b"Content-Type: text/html"))
    await writer.drain()


def ok(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body), b"", body]
    return b"\r\n".join(lines)


@asynccontextmanager
async def web_server(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"):
    web = WebServer(scheme="https" if tls else "http")
    server = await asyncio.start_server(web._serve, host, 0, ssl=tls, limit=1 << 20, backlog=1000)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()


@asynccontextmanager
async def tunnel(greeting: bytes, port: int):
    """A proxy that answers every CONNECT with `greeting` and leads to `port`; its URL."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(1 << 16):
                writer.write(piece)
        except ConnectionError:
            pass
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(greeting)
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, other_writer), pump(other_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()

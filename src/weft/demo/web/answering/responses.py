"""Requests and responses as values, and what a site is: anything that turns one into the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Final, Protocol

from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.robots import RobotsRules

Piece = tuple[float, bytes]
"""Bytes to send after so many seconds."""


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """`target` is path and query as they came; header names are in lower case."""

    method: str
    host: str
    target: str
    headers: dict[bytes, bytes]
    is_secure: bool = False
    body: bytes = b""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def is_conditional(self) -> bool:
        return b"if-none-match" in self.headers or b"if-modified-since" in self.headers


class Ending(Enum):
    """What happens to the connection behind a response."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class DemoResponse:
    """Either `rest` (headers, empty line, body; `body_at` is where the body begins) or, with `pieces`, raw bytes.

    `until` is how long the same request has the same answer, in the web's time; 0 means that the next one may differ.
    `page` is the number of the resource, -1 where it has none.
    """

    kind: PageKind
    status: int
    rest: bytes = b""
    body_at: int = 0
    pieces: Callable[[], Iterator[Piece]] | None = None
    ending: Ending = Ending.KEEP
    etag: bytes = b""
    modified: bytes = b""
    retry_after: float = 0.0
    until: float = 0.0
    page: int = -1
    version: int = 0


class DemoSite(Protocol):
    """One host of a web. `answer` may depend on time and on what was asked before, never on the connection."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def rules(self) -> RobotsRules:
        """What its robots.txt says, as data for the judge."""
        ...

    def answer(self, request: DemoRequest) -> DemoResponse: ...


STATUS_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus if status >= 200
}

Headers = Iterable[tuple[str, str]]


def header_block(headers: Headers, length: int | None) -> bytes:
    """Header lines and the empty line behind them."""
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    if length is not None:
        lines.append(f"Content-Length: {length}\r\n")
    return "".join(lines).encode("latin-1") + b"\r\n"


def whole(kind: PageKind, status: int, headers: Headers, body: bytes) -> DemoResponse:
    block = header_block(headers, len(body))
    return DemoResponse(kind, status, block + body, len(block))


def raw_head(status: int, headers: Headers, length: int | None = None) -> bytes:
    """The head of a response that is sent in pieces."""
    return STATUS_LINES[status] + header_block(headers, length)

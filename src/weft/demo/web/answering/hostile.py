"""Answers that no honest server gives: without end, without length, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import repeat
from typing import Final

from isal import isal_zlib

from weft.demo.web.answering.responses import STATUS_LINES, DemoResponse, Ending, Piece, raw_head, whole
from weft.demo.web.definition.kinds import PageKind

_HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)
_FILLING: Final = b"<p>" + b"and so it goes on and on " * 160 + b"</p>\n"
MOST_PIECES: Final = 250_000
"""About a gigabyte: nothing is really endless here, but no crawler should see the end."""
SILENCE: Final = 600.0
BOMB_BYTES: Final = 256 << 20
_DRIPS: Final = 8


def slowed(kind: PageKind, response: DemoResponse, seconds: float) -> DemoResponse:
    """The same answer in drips, `seconds` from the first to the last."""
    data = STATUS_LINES[response.status] + response.rest
    size = len(data) // _DRIPS + 1
    drips = [data[at : at + size] for at in range(0, len(data), size)]
    pauses = [0.0, *[seconds / max(1, len(drips) - 1)] * (len(drips) - 1)]
    return DemoResponse(kind, response.status, pieces=lambda: iter(list(zip(pauses, drips, strict=True))))


def reset() -> DemoResponse:
    """No answer: the connection is reset."""
    return DemoResponse(PageKind.RESET, 0, pieces=lambda: iter(()), ending=Ending.RESET)


def hostile(kind: PageKind, body: bytes) -> DemoResponse:
    """`body` is what an honest answer would hold."""
    return _ANSWERS[kind](body)


def _endless(_: bytes) -> DemoResponse:
    def pieces() -> Iterator[Piece]:
        chunk = b"%x\r\n%s\r\n" % (len(_FILLING), _FILLING)
        yield 0.0, raw_head(200, (*_HTML, ("Transfer-Encoding", "chunked")))
        yield from repeat((0.0, chunk), MOST_PIECES)

    return DemoResponse(PageKind.ENDLESS, 200, pieces=pieces, ending=Ending.CLOSE)


def _endless_headers(_: bytes) -> DemoResponse:
    def pieces() -> Iterator[Piece]:
        yield 0.0, STATUS_LINES[200]
        yield from ((0.001, b"X-Header-%d: %s\r\n" % (number, b"x" * 1000)) for number in range(MOST_PIECES))

    return DemoResponse(PageKind.ENDLESS_HEADERS, 200, pieces=pieces, ending=Ending.CLOSE)


def _silent(_: bytes) -> DemoResponse:
    return DemoResponse(PageKind.SILENT, 0, pieces=lambda: iter([(SILENCE, b"")]), ending=Ending.CLOSE)


def _too_short(body: bytes) -> DemoResponse:
    """Ends before the length that it named."""
    data = raw_head(200, _HTML, len(body) + 1_000) + body
    return DemoResponse(PageKind.TOO_SHORT, 200, pieces=lambda: iter([(0.0, data)]), ending=Ending.CLOSE)


def _too_long(body: bytes) -> DemoResponse:
    """Goes on behind the length that it named."""
    data = raw_head(200, _HTML, len(body) // 2) + body
    return DemoResponse(PageKind.TOO_LONG, 200, pieces=lambda: iter([(0.0, data)]), ending=Ending.CLOSE)


def _reset_within(body: bytes) -> DemoResponse:
    data = raw_head(200, _HTML, len(body)) + body[: len(body) // 2]
    return DemoResponse(PageKind.RESET, 200, pieces=lambda: iter([(0.0, data)]), ending=Ending.RESET)


def _bomb(_: bytes) -> DemoResponse:
    return whole(PageKind.BOMB, 200, (*_HTML, ("Content-Encoding", "gzip")), bomb())


@cache
def bomb() -> bytes:
    """A quarter of a gigabyte of blanks, packed to a thousandth."""
    packer = isal_zlib.compressobj(level=1, wbits=31)
    blanks = b" " * (1 << 20)
    return b"".join([packer.compress(blanks) for _ in range(BOMB_BYTES >> 20)]) + packer.flush()


_ANSWERS: Final = {
    PageKind.ENDLESS: _endless,
    PageKind.ENDLESS_HEADERS: _endless_headers,
    PageKind.SILENT: _silent,
    PageKind.TOO_SHORT: _too_short,
    PageKind.TOO_LONG: _too_long,
    PageKind.RESET: _reset_within,
    PageKind.BOMB: _bomb,
}
HOSTILE: Final = frozenset(_ANSWERS)

"""A response as it came over the wire: status, header fields, and the payload without its chunked coding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from mmap import mmap
from typing import Final

MOST_CHUNKS: Final = 100_000
"""Chunks of one byte would cost a hundred times the work of the bytes themselves."""

_CHUNK_LINE: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[^\n]{0,16384}\n")
_STATUS: Final = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_FOLDED: Final = re.compile(rb"\r?\n[ \t]+")
_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")


@dataclass(frozen=True, slots=True)
class HttpHead:
    """Status line and header fields; names are lower case, values latin-1."""

    status: int
    fields: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """The first field of this name, or nothing."""
        for field, value in self.fields:
            if field == name:
                return value
        return ""

    def joined(self, name: str) -> str:
        """All fields of this name as one list."""
        return ", ".join(value for field, value in self.fields if field == name)

    @property
    def is_chunked(self) -> bool:
        return "chunked" in self.joined("transfer-encoding").lower()

    @property
    def content_encoding(self) -> str:
        return self.joined("content-encoding")


def parse_head(raw: bytes) -> HttpHead:
    """Read a header block; lines that are no field are left out, a folded line is joined."""
    status = _STATUS.match(raw)
    lines = _FOLDED.sub(b" ", raw).decode("latin-1").split("\n")[1:]
    parts = [line.partition(":") for line in lines]
    fields = tuple([(name.strip().lower(), value.strip()) for name, colon, value in parts if colon])
    return HttpHead(int(status[1]) if status else 0, fields)


def text_of(value: str) -> str:
    """A header value as its server meant it: it is read as latin-1, but servers write UTF-8, as browsers expect."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def split_head(block: bytes) -> tuple[bytes, bytes]:
    """Header block, with the empty line that ends it, and what follows."""
    end = _END_OF_HEAD.search(block)
    at = end.end() if end else len(block)
    return block[:at], block[at:]


def payload_of(head: HttpHead, body: bytes | mmap) -> bytes | mmap:
    """The body without its transfer coding, still in its content encoding."""
    return dechunked(body) if head.is_chunked else body


def dechunked(raw: bytes | mmap) -> bytes:
    """The payload of a chunked body (RFC 9112, section 7.1), up to where the body ends or breaks the form."""
    return _chunks(raw)[0]


def is_whole(head: HttpHead, body: bytes | mmap) -> bool:
    """Tell whether a body in chunks has its last one; of any other body its length told that."""
    return not head.is_chunked or _chunks(body)[1]


def _chunks(raw: bytes | mmap) -> tuple[bytes, bool]:
    """All that is in the chunks, and whether the last one came."""
    parts, at = list[bytes](), 0
    for _ in range(MOST_CHUNKS):
        line = _CHUNK_LINE.match(raw, at)
        if line is None:
            break
        size = int(line[1], 16)
        if size == 0:
            return b"".join(parts), True
        begin = line.end()
        parts.append(raw[begin : begin + size])
        at = begin + size
        at += 2 if raw[at : at + 2] == b"\r\n" else 1
    return b"".join(parts), False

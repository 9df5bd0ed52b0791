"""A response as it came over the wire: status, header fields, and the payload without its chunked coding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from mmap import mmap
from typing import Final, NamedTuple

from weft.archive import mime_type

MOST_CHUNKS: Final = 100_000
"""Chunks of one byte would cost a hundred times the work of the bytes themselves."""

MOST_INTERIM: Final = 100
"""Interim heads before the final one: a server needs none or one."""

CHUNKED: Final = frozenset({"chunked"})
"""The one transfer coding that may come without being asked for."""

_CHUNK_LINE: Final = re.compile(rb"[ \t]*+([0-9A-Fa-f]{1,15})[^\n]*+\n")
_STATUS: Final = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})(?!\S)")
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
    def transfer_codings(self) -> frozenset[str]:
        named = self.joined("transfer-encoding").lower().split(",")
        return frozenset(name.strip() for name in named) - {"", "identity"}

    @property
    def is_chunked(self) -> bool:
        return self.transfer_codings >= CHUNKED

    @property
    def content_type(self) -> str:
        """`type/subtype`, with its charset if there is one; empty: the server does not say."""
        return mime_type.extract(self.joined("content-type"))

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


def split_response(block: bytes) -> tuple[bytes, bytes]:
    """Head and body of the final response: some archives keep the interim ones (100, 103) that came before it.

    What follows a 101 is another protocol, so that one is final; so is an interim head with no other behind it.
    """
    at = 0
    for _ in range(MOST_INTERIM):
        status, end = _STATUS.match(block, at), _END_OF_HEAD.search(block, at)
        if status is None or end is None or not _is_interim(int(status[1])):
            break
        if not block.startswith(b"HTTP/", end.end()):
            break
        at = end.end()
    return split_head(block[at:] if at else block)


def _is_interim(status: int) -> bool:
    return status // 100 == 1 and status != HTTPStatus.SWITCHING_PROTOCOLS


def payload_of(head: HttpHead, body: bytes | mmap) -> bytes | mmap:
    """The body without its transfer coding, still in its content encoding."""
    return dechunked(body) if head.is_chunked else body


def dechunked(raw: bytes | mmap) -> bytes:
    """The payload of a chunked body (RFC 9112, section 7.1), up to where the body ends or breaks the form."""
    return read_chunks(raw).payload


class ChunkedBody(NamedTuple):
    payload: bytes
    end: int
    """Where it ends, with its trailer; without an end all bytes belong to it."""
    is_whole: bool
    """Whether the last chunk was found: else the payload may be a part."""


def read_chunks(raw: bytes | mmap) -> ChunkedBody:
    parts: list[bytes] = []
    at = 0
    for _ in range(MOST_CHUNKS):
        line = _CHUNK_LINE.match(raw, at)
        if line is None:
            break
        size = int(line[1], 16)
        begin = line.end()
        if size == 0:
            # The trailer is empty in most cases; then only the end of its last line is there.
            end = _END_OF_HEAD.search(raw, begin - 1)
            return ChunkedBody(b"".join(parts), end.end() if end else len(raw), is_whole=True)
        parts.append(raw[begin : begin + size])
        at = begin + size
        at += 2 if raw[at : at + 2] == b"\r\n" else 1
    return ChunkedBody(b"".join(parts), len(raw), is_whole=False)

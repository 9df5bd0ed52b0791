"""Turns an exchange into the records of ISO 28500 (WARC 1.1), each a gzip member of its own."""

from __future__ import annotations

import hashlib
import itertools
import secrets
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from mmap import mmap
from typing import Final, NamedTuple

from isal import isal_zlib

from weft.archive.cdxj import REVISIT, Capture, RecordPosition
from weft.model.original import Original

LARGE: Final = 256 << 10
"""Bodies above it are packed piece by piece while they are written."""

NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
IDENTICAL: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
REFERS_TO: Final = "Weft-Refers-To"
"""File, offset and length of the record that a revisit repeats; what the standard names cannot be opened directly."""
NOT_A_PAGE: Final = "Weft-Not-A-Page"
"""Why the crawl took no page from this response, so that an import of its archive takes none either."""
ROBOTS: Final = "robots.txt"

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS: Final = range(150, -1, -10)
_PIECE: Final = 1 << 20
_GZIP: Final = 31
_MEDIA: Final = ("image/", "video/", "audio/", "font/", "application/zip", "application/gzip", "application/pdf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and the response to it, as they went over the wire."""

    url: str
    ip: str
    """Address that was asked; empty where a proxy did it."""
    started: int
    """Milliseconds since 1970."""
    request: bytes
    head: bytes
    """Status line and header fields, with the empty line at the end."""
    body: bytes | mmap
    """As received: chunked and encoded where the server did so."""
    status: int
    content_type: str = ""
    content_encoding: str = ""
    truncated: str = ""
    """Why the body is not whole: length, time, disconnect; empty: it is."""
    refused: str = ""
    """Class of what is wrong with the body; empty: nothing."""
    is_robots: bool = False
    payload_digest: str = ""
    """Of the body without its transfer coding, in base32; empty: it has none."""
    original: Original | None = None
    """The capture whose validators were sent with the request."""

    @property
    def not_a_page(self) -> str:
        return ROBOTS if self.is_robots else self.refused


class EarlierRecord(NamedTuple):
    """What is remembered of the last whole record of a URL."""

    original: Original
    position: RecordPosition
    is_chunked: bool


class RenderedRecords(NamedTuple):
    """Records ready to be written, one after the other."""

    members: tuple[Iterable[bytes], ...]
    main: int
    """Which of them holds the response."""
    capture: Capture
    original: Original
    """By which a later record may refer to it."""
    is_whole: bool
    """Whether a later identical response may refer to it."""
    is_chunked: bool


class _Identity:
    """Record ids: random for each process, counted within it."""

    def __init__(self) -> None:
        bits = secrets.token_hex(8)
        self._prefix = f"<urn:uuid:{bits[:8]}-{bits[8:12]}-4{bits[12:15]}-8{secrets.token_hex(2)[:3]}-"
        self._next = itertools.count(1).__next__

    def new(self) -> str:
        return f"{self._prefix}{self._next():012x}>"


_identity = _Identity()


def render(exchange: Exchange, earlier: EarlierRecord | None = None) -> RenderedRecords:
    """The records of an exchange; a revisit if the server or the digest says that the payload is the earlier one."""
    date = warc_date(exchange.started)
    record = _identity.new()
    payload = exchange.payload_digest or sha1(exchange.body)
    about = _about(exchange, date)
    concurrent = f"{about}WARC-Concurrent-To: {record}\r\n"
    request_fields = f"{concurrent}Content-Type: application/http; msgtype=request\r\n"
    members: list[Iterable[bytes]] = [
        [_packed(_head("request", _identity.new(), request_fields, exchange.request), exchange.request)]
    ]
    profile = _profile(exchange, payload, earlier)
    if profile:
        members.append([_revisit(exchange, record, about, profile, payload, earlier)])
    else:
        members.append(_response(exchange, record, about, payload))
    if exchange.truncated or exchange.refused:
        members.append([_metadata(exchange, concurrent)])
    mime = REVISIT if profile else exchange.content_type.partition(";")[0].strip().lower()
    capture = Capture(exchange.url, _timestamp(date), mime, exchange.status, payload)
    original = Original(record, exchange.url, date, payload)
    is_whole = not (profile or exchange.truncated)
    return RenderedRecords(tuple(members), 1, capture, original, is_whole, bool(exchange.payload_digest))


def warcinfo(file: str, fields: Iterable[tuple[str, str]], now: int) -> bytes:
    """The record that begins every file."""
    block = "".join(f"{name}: {value}\r\n" for name, value in fields).encode()
    about = f"WARC-Date: {warc_date(now)}\r\nWARC-Filename: {file}\r\nContent-Type: application/warc-fields\r\n"
    return _packed(_head("warcinfo", _identity.new(), about, block), block)


def warc_date(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def _timestamp(date: str) -> str:
    return date[:19].translate({ord(mark): None for mark in "-T:"})


def _about(exchange: Exchange, date: str) -> str:
    ip = f"WARC-IP-Address: {exchange.ip}\r\n" if exchange.ip else ""
    return f"WARC-Date: {date}\r\nWARC-Target-URI: {exchange.url}\r\n{ip}"


def _head(kind: str, record: str, fields: str, block: bytes, digest: str = "", length: int | None = None) -> bytes:
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record}\r\n{fields}"
        f"WARC-Block-Digest: sha1:{digest or sha1(block)}\r\n"
        f"Content-Length: {len(block) if length is None else length}\r\n\r\n"
    ).encode()


def _profile(exchange: Exchange, payload: str, earlier: EarlierRecord | None) -> str:
    if exchange.status == 304:
        return NOT_MODIFIED
    if earlier is None or exchange.status != 200 or exchange.truncated or not exchange.body:
        return ""
    # Replay tools put the header of a revisit before the body of its original: both must be chunked, or neither.
    is_same = (earlier.original.digest, earlier.is_chunked) == (payload, bool(exchange.payload_digest))
    return IDENTICAL if is_same else ""


def _revisit(
    exchange: Exchange, record: str, about: str, profile: str, payload: str, earlier: EarlierRecord | None
) -> bytes:
    fields = f"{about}WARC-Profile: {profile}\r\n{_not_a_page(exchange)}"
    if profile == IDENTICAL and earlier is not None:
        place = earlier.position
        fields += f"{REFERS_TO}: {place.file} {place.offset} {place.length}\r\n"
        fields += f"WARC-Payload-Digest: sha1:{payload}\r\n"
    original = exchange.original if profile == NOT_MODIFIED and exchange.original else earlier and earlier.original
    if original is not None:
        fields += (
            f"WARC-Refers-To: {original.record}\r\nWARC-Refers-To-Target-URI: {original.url}\r\n"
            f"WARC-Refers-To-Date: {original.date}\r\n"
        )
    fields += "Content-Type: application/http; msgtype=response\r\n"
    return _packed(_head("revisit", record, fields, exchange.head), exchange.head)


def _response(exchange: Exchange, record: str, about: str, payload: str) -> Iterable[bytes]:
    cut = f"WARC-Truncated: {exchange.truncated}\r\n" if exchange.truncated else ""
    digest = f"WARC-Payload-Digest: sha1:{payload}\r\n"
    fields = f"{about}{cut}{digest}{_not_a_page(exchange)}Content-Type: application/http; msgtype=response\r\n"
    is_packed = bool(exchange.content_encoding) or exchange.content_type.lower().startswith(_MEDIA)
    if len(exchange.body) > LARGE:
        return _pieces(exchange, record, fields, is_packed)
    block = exchange.head + exchange.body[:]
    return [_packed(_head("response", record, fields, block), block, is_packed)]


def _pieces(exchange: Exchange, record: str, fields: str, is_packed: bool) -> Iterator[bytes]:
    hashed = hashlib.sha1(exchange.head, usedforsecurity=False)
    hashed.update(exchange.body)
    digest = base32(hashed.digest())
    length = len(exchange.head) + len(exchange.body)
    packer = zlib.compressobj(0, wbits=_GZIP) if is_packed else isal_zlib.compressobj(1, wbits=_GZIP)
    yield packer.compress(_head("response", record, fields, b"", digest, length) + exchange.head)
    for at in range(0, len(exchange.body), _PIECE):
        yield packer.compress(exchange.body[at : at + _PIECE])
    yield packer.compress(b"\r\n\r\n") + packer.flush()


def _not_a_page(exchange: Exchange) -> str:
    return f"{NOT_A_PAGE}: {exchange.not_a_page}\r\n" if exchange.not_a_page else ""


def _metadata(exchange: Exchange, concurrent: str) -> bytes:
    notes = [("truncated", exchange.truncated), ("received", str(len(exchange.body)))] if exchange.truncated else []
    notes += [("refused", exchange.refused)] if exchange.refused else []
    block = "".join(f"{name}: {value}\r\n" for name, value in notes).encode()
    fields = f"{concurrent}Content-Type: application/warc-fields\r\n"
    return _packed(_head("metadata", _identity.new(), fields, block), block)


def _packed(head: bytes, block: bytes, is_packed: bool = False) -> bytes:
    """One gzip member; what was packed already is only wrapped, which costs a seventh and saves as much."""
    record = b"".join((head, block, b"\r\n\r\n"))
    return zlib.compress(record, 0, _GZIP) if is_packed else isal_zlib.compress(record, 1, _GZIP)


def sha1(data: bytes | mmap) -> str:
    """In base32, as replay tools write it."""
    return base32(hashlib.sha1(data, usedforsecurity=False).digest())


def base32(digest: bytes) -> str:
    """The 20 bytes of a SHA-1; base64.b32encode() takes ten times as long, and every page has three."""
    number = int.from_bytes(digest)
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])

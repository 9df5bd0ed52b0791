"""Bodies out of their content encodings, under caps: what a server sends may be a bomb."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import Final, NamedTuple

import brotli  # type: ignore[import-untyped]
import zstandard
from isal import isal_zlib

from weft.archive.archive_errors import GzipError
from weft.errors import WeftError
from weft.model.fetch_error import FetchError

MOST_ENCODINGS: Final = 2
RATIO_FLOOR: Final = 1 << 20
"""Below this size nobody is hurt, however well it was packed."""

_TAKE: Final = 64 << 10
_GIVE: Final = 256 << 10
# The window that RFC 8878 recommends as a limit, and browsers refuse to go beyond.
_ZSTD_WINDOW: Final = 8 << 20
# This decoder gives all that a step becomes: four bytes can become 128 KiB, so a step becomes 8 MiB at most.
_ZSTD_STEP: Final = 256
_GZIP_MAGIC: Final = b"\x1f\x8b"
_NO_ENCODING: Final = frozenset({"", "identity", "none", "utf-8", "utf8"})
"""What servers write when they mean no encoding."""
_SEPARATOR: Final = re.compile(r"[\s,]+")

Pieces = Iterator[bytes]


class BodyRefused(WeftError):  # noqa: N818 - an answer about the body, not a fault
    def __init__(self, reason: FetchError, why: str) -> None:
        super().__init__(f"body refused: {why}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    size: int = 10 << 20
    """Bytes after decoding."""
    ratio: int = 200
    """Bytes after decoding for each byte received, beyond RATIO_FLOOR."""


class Decoded(NamedTuple):
    data: bytes
    is_whole: bool
    """False: the encoded stream ended early, and this is what came."""


class DecodedSize(NamedTuple):
    size: int
    is_whole: bool
    """False: the encoded stream ended early, and this is how much came."""


class _EndsEarly(Exception):  # noqa: N818
    """The encoded stream is not finished where the body is."""


def decode(body: bytes | mmap, content_encoding: str, limits: DecodeLimits) -> Decoded:
    """The body as its author wrote it; raises BodyRefused."""
    pieces: list[bytes] = []
    is_whole = _run(body, content_encoding, limits, pieces.append)
    return Decoded(b"".join(pieces), is_whole)


def decoded_size(body: bytes | mmap, content_encoding: str, limits: DecodeLimits) -> DecodedSize:
    """How large the body is after decoding, without ever holding all of it; raises BodyRefused."""
    sizes: list[int] = []
    is_whole = _run(body, content_encoding, limits, lambda piece: sizes.append(len(piece)))
    return DecodedSize(sum(sizes), is_whole)


def decode_beginning(body: bytes | mmap, content_encoding: str, most: int, *, is_cut: bool = False) -> bytes:
    """The first `most` bytes after decoding, or what there is of them; raises BodyRefused.

    For bodies that must be understood: an encoding that nobody knows is refused, and one that ends too early too,
    unless it was cut by ourselves.
    """
    unknown = [name for name in _names(content_encoding) if name not in _DECODERS and name not in _NO_ENCODING]
    if unknown:
        raise BodyRefused(FetchError.BAD_ENCODING, f"its encoding {unknown[0]} is unknown")
    found = bytearray()
    try:
        for piece in _guarded(body, content_encoding):
            found += piece
            if len(found) >= most:
                break
    except _EndsEarly:
        if not is_cut:
            raise BodyRefused(FetchError.BAD_ENCODING, f"its {content_encoding} ends too early") from None
    return bytes(found[:most])


def _run(body: bytes | mmap, content_encoding: str, limits: DecodeLimits, take: Callable[[bytes], object]) -> bool:
    size, allowed = 0, max(RATIO_FLOOR, len(body) * limits.ratio)
    pieces = _guarded(body, content_encoding)
    while True:
        try:
            piece = next(pieces)
        except StopIteration:
            return True
        except _EndsEarly:
            if size == 0:
                raise BodyRefused(
                    FetchError.BAD_ENCODING, f"nothing of its {content_encoding} can be decoded"
                ) from None
            return False
        size += len(piece)
        if size > limits.size:
            raise BodyRefused(FetchError.TOO_LARGE, f"more than {limits.size} bytes after decoding")
        if size > allowed:
            raise BodyRefused(FetchError.BOMB, f"{len(body)} bytes become more than {limits.ratio} times as many")
        take(piece)


def _guarded(body: bytes | mmap, content_encoding: str) -> Pieces:
    pieces = _slices(body)
    for name in reversed(_known(content_encoding)):
        pieces = _DECODERS[name](pieces)
    try:
        yield from pieces
    except (GzipError, brotli.error, zstandard.ZstdError) as error:
        raise BodyRefused(FetchError.BAD_ENCODING, f"its {content_encoding} is damaged: {error}") from error


def _known(content_encoding: str) -> list[str]:
    """The encodings in the order they were put on; an unknown name means nothing, as in browsers."""
    names = [name for name in _names(content_encoding) if name in _DECODERS]
    if len(names) > MOST_ENCODINGS:
        raise BodyRefused(
            FetchError.BAD_ENCODING, f"{len(names)} encodings one over the other, at most {MOST_ENCODINGS}"
        )
    return names


def _names(content_encoding: str) -> list[str]:
    return _SEPARATOR.split(content_encoding.lower())


def _slices(body: bytes | mmap) -> Pieces:
    if len(body) <= _TAKE:
        yield bytes(body)
        return
    for at in range(0, len(body), _TAKE):
        yield body[at : at + _TAKE]


def _gunzip(pieces: Pieces) -> Pieces:
    return _inflate(pieces, lambda _: 31)


def _undeflate(pieces: Pieces) -> Pieces:
    """Deflate as the standard says (in a zlib wrapper) or as some servers send it (bare)."""
    return _inflate(pieces, lambda first: 15 if _is_zlib(first) else -15)


def _is_zlib(first: bytes) -> bool:
    return len(first) >= 2 and first[0] & 0x0F == 8 and int.from_bytes(first[:2]) % 31 == 0


def _inflate(pieces: Pieces, window_bits: Callable[[bytes], int]) -> Pieces:
    decoder = None
    is_empty = True
    for given in pieces:
        piece = given
        while True:
            if decoder is None:
                if not piece or not (is_empty or piece.startswith(_GZIP_MAGIC)):
                    break  # the end, or rubbish after the last member, which everybody ignores
                decoder, is_empty = isal_zlib.decompressobj(window_bits(piece)), False
            out = decoder.decompress(piece, _GIVE)
            if out:
                yield out
            if decoder.eof:
                piece, decoder = decoder.unused_data, None
                continue
            piece = decoder.unconsumed_tail
            if not piece and len(out) < _GIVE:
                break
    if decoder is not None:
        raise _EndsEarly


def _unbrotli(pieces: Pieces) -> Pieces:
    decoder = brotli.Decompressor()
    is_empty = True
    for piece in pieces:
        is_empty = is_empty and not piece
        out = decoder.process(piece, output_buffer_limit=_GIVE)
        while out or not decoder.can_accept_more_data():
            yield out
            if decoder.is_finished():
                return
            out = decoder.process(b"", output_buffer_limit=_GIVE)
    if not is_empty and not decoder.is_finished():
        raise _EndsEarly


def _unzstd(pieces: Pieces) -> Pieces:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    decoder = None
    for given in pieces:
        for at in range(0, len(given), _ZSTD_STEP):
            piece = given[at : at + _ZSTD_STEP]
            while piece:
                decoder = decoder or unpacker.decompressobj()
                yield decoder.decompress(piece)
                piece, decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
    if decoder is not None:
        raise _EndsEarly


_DECODERS: Final[dict[str, Callable[[Pieces], Pieces]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}

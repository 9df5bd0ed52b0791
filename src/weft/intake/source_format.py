"""Which format a source has: recognised by how its content begins, and by its name only if that does not decide."""

from __future__ import annotations

import re
import zlib
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from zstandard import ZstdError

from weft.errors import WeftError
from weft.intake.source_position import SourceUnit, problem_of
from weft.intake.unpack.blocks import blocks
from weft.intake.unpack.compression import Compression
from weft.intake.unpack.packed_file import PackedFile

_HEAD_BYTES: Final = 4096
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WARC: Final = b"WARC/"
_ARC_LINE: Final = re.compile(rb"[a-z][a-z0-9+.-]*:[^\r\n]* \S+ \d{14,17} [^\r\n]+\r?\n", re.IGNORECASE)
_PACKED_SUFFIXES: Final = (".gz", ".zst")
_EXPECTED: Final = "expected an archive (WARC, WAT, ARC) or lines of JSON (JSONL)"


class SourceRefused(WeftError):  # noqa: N818 - an answer about an argument, not a fault
    """An argument of an import that names nothing to read, and why."""


class SourceFormat(StrEnum):
    """WAT files are WARC files: their records tell what they are."""

    JSONL = "jsonl"
    WARC = "warc"
    ARC = "arc"

    @property
    def unit(self) -> SourceUnit:
        return SourceUnit.LINE if self is SourceFormat.JSONL else SourceUnit.RECORD


_FORMAT_OF_SUFFIX: Final = {
    ".jsonl": SourceFormat.JSONL,
    ".ndjson": SourceFormat.JSONL,
    ".warc": SourceFormat.WARC,
    ".wat": SourceFormat.WARC,
    ".arc": SourceFormat.ARC,
}


def is_named_for_pages(name: str) -> bool:
    """Whether a file of this name is read when its directory is imported."""
    return not name.startswith(".") and format_of_name(name) is not None


def format_of_name(name: str) -> SourceFormat | None:
    path = Path(name.lower())
    if path.suffix in _PACKED_SUFFIXES:
        path = path.with_suffix("")
    return _FORMAT_OF_SUFFIX.get(path.suffix)


def format_of(head: bytes, name: str) -> SourceFormat:
    """What a file is that begins with `head` when it is unpacked; raises SourceRefused."""
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    named = format_of_name(name)
    if text.startswith(_WARC) or (named is SourceFormat.WARC and _WARC.startswith(text)):
        return SourceFormat.WARC
    if text.startswith(b"filedesc:") or _ARC_LINE.match(text):
        return SourceFormat.ARC
    if text.startswith(b"{"):
        return SourceFormat.JSONL
    if named is SourceFormat.JSONL or not text:
        return named or SourceFormat.JSONL
    raise SourceRefused(f"{name}: it begins with {text[:24]!r}; {_EXPECTED}")


def format_of_file(file: BinaryIO, compression: Compression, name: str) -> SourceFormat:
    """The same for an open file; one that cannot be unpacked is what it is called."""
    head = b""
    try:
        for block in islice(blocks(PackedFile(file), compression), 16):
            head += block[:_HEAD_BYTES]
            if head.strip():
                break
    except (EOFError, zlib.error, ZstdError) as error:
        if not head:
            named = format_of_name(name)
            if named is None:
                raise SourceRefused(f"{name}: {problem_of(error)}; {_EXPECTED}") from error
            return named
    return format_of(head, name)

"""Which files an import reads: arguments become sources, and what cannot be read is refused before anything is."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final

from weft.errors import WeftError

STANDARD_INPUT: Final = "-"
MAGIC_BYTES: Final = 4
"""How much of a file's beginning tells what it is."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
# Tools that compress in parallel put a frame that decoders skip before the first one.
_ZSTD_SKIPPED: Final = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
_HOLDS_PAGES: Final = re.compile(r"[^.].*\.(?:jsonl|ndjson)(?:\.gz|\.zst)?", re.IGNORECASE | re.DOTALL)
_EXPECTED: Final = "expected a file, a directory, a pattern, or - for standard input"
_EXPECTED_INSIDE: Final = "expected *.jsonl or *.ndjson in it, also with .gz or .zst"


class SourceRefused(WeftError):  # noqa: N818 - an answer about an argument, not a fault
    """An argument of an import that names nothing to read, and why."""


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was when the import began; without a path it is standard input, of which nothing is known."""

    path: Path | None = None
    size: int | None = None
    mtime_ns: int | None = None
    compression: Compression | None = None

    @property
    def name(self) -> str:
        return "standard input" if self.path is None else str(self.path)

    def open(self) -> AbstractContextManager[BinaryIO]:
        """The bytes as they are stored; standard input is not closed afterwards."""
        if self.path is not None:
            return self.path.open("rb")
        if sys.stdin is None:
            raise SourceRefused("standard input is closed; expected pages there because of the argument -")
        return nullcontext(sys.stdin.buffer)


def expand(arguments: Sequence[str]) -> list[Source]:
    """What the arguments name, in their order, each file once; raises SourceRefused, and then none is worth reading."""
    sources: dict[Path | None, Source] = {}
    for argument in arguments:
        for path in _paths(argument):
            source = Source() if path is None else _look_at(path)
            # Two names of one file, a link and its target, are one source.
            sources.setdefault(path and path.resolve(), source)
    return list(sources.values())


def compression_of(head: bytes, name: str = "") -> Compression:
    """What a file that begins with `head` is packed with; its name counts only where it ends inside the magic bytes."""
    name = name.lower()
    if head.startswith(_GZIP) or (name.endswith(".gz") and _GZIP.startswith(head)):
        return Compression.GZIP
    if head.startswith(_ZSTD) or _ZSTD_SKIPPED.match(head) or (name.endswith(".zst") and _ZSTD.startswith(head)):
        return Compression.ZSTD
    return Compression.NONE


def _paths(argument: str) -> list[Path | None]:
    if argument == STANDARD_INPUT:
        return [None]
    try:
        mode = os.stat(argument).st_mode  # noqa: PTH116 - Path("") would be the current directory
    except (OSError, ValueError) as error:
        return [*_matches(argument, error)]
    if not stat.S_ISDIR(mode):
        return [Path(argument)]
    found = _below(Path(argument))
    if not found:
        raise SourceRefused(f"{argument}: no pages in this directory; {_EXPECTED_INSIDE}")
    return [*found]


def _matches(pattern: str, error: Exception) -> list[Path]:
    """What `pattern` names, given that it names no file (`error`); directories are read as if named alone."""
    if not glob.has_magic(pattern):
        raise SourceRefused(f"{pattern!r}: {_reason(error)}; {_EXPECTED}") from error
    found = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207 - Path.glob is relative
    files = [file for path in found for file in (_below(path) if path.is_dir() else [path])]
    if not files:
        raise SourceRefused(f"{pattern}: no file matches this pattern; {_EXPECTED}")
    return files


def _below(directory: Path) -> list[Path]:
    """The files with pages in `directory` and in those inside it, sorted; nothing that is hidden."""
    return sorted(_walk(directory))


def _walk(directory: Path) -> Iterator[Path]:
    # os.walk does not follow links to directories, so there is no circle.
    for folder, inside, names in os.walk(directory, onerror=_refuse_directory):
        inside[:] = [name for name in inside if not name.startswith(".")]
        yield from (Path(folder, name) for name in names if _HOLDS_PAGES.fullmatch(name))


def _refuse_directory(error: OSError) -> None:
    raise SourceRefused(f"{error.filename}: {_reason(error)}; expected a directory that can be read") from error


def _look_at(path: Path) -> Source:
    try:
        # Opening a pipe would wait for whoever writes into it.
        if not stat.S_ISREG(path.stat().st_mode):
            raise SourceRefused(f"{path}: not a regular file; {_EXPECTED}")
        with path.open("rb") as file:
            facts, head = os.fstat(file.fileno()), file.read(MAGIC_BYTES)
    except OSError as error:
        raise SourceRefused(f"{path}: {_reason(error)}; expected a file that can be read") from error
    return Source(path, facts.st_size, facts.st_mtime_ns, compression_of(head, path.name))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

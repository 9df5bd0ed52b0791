"""Which files an import reads: arguments become sources; what cannot be read is refused before anything is loaded."""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from weft.intake.source_format import SourceFormat, SourceRefused, format_of_file, is_named_for_pages
from weft.intake.unpack.compression import MAGIC_BYTES, Compression, compression_of

STANDARD_INPUT: Final = "-"
_AHEAD_BYTES: Final = 1 << 20
"""How much of standard input is read to know what it is; a dictionary may stand before the first page."""
_EXPECTED: Final = "expected a file, a directory, a pattern, or - for standard input"
_EXPECTED_INSIDE: Final = "expected *.warc, *.wat, *.arc, *.jsonl or *.ndjson in it, also with .gz or .zst"


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file as it was when the import began; without a path it is standard input, of which nothing is known."""

    path: Path | None = None
    size: int | None = None
    mtime_ns: int | None = None
    compression: Compression | None = None
    format: SourceFormat | None = None
    ahead: bytes = b""
    """What was read of standard input already."""

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

    def recognised(self) -> ImportSource:
        """This source with its format; standard input is read as far as that needs."""
        if self.format is not None:
            return self
        with self.open() as file:
            ahead = file.read(_AHEAD_BYTES)
        compression = compression_of(ahead)
        found = format_of_file(BytesIO(ahead), compression, self.name)
        return replace(self, compression=compression, format=found, ahead=ahead)


def expand(arguments: Sequence[str]) -> list[ImportSource]:
    """What the arguments name, in their order, each file once; raises SourceRefused, and then none is worth reading."""
    sources: dict[Path | None, ImportSource] = {}
    for argument in arguments:
        for path in _paths(argument):
            source = ImportSource() if path is None else _look_at(path)
            # Two names of one file, a link and its target, are one source.
            sources.setdefault(path and path.resolve(), source)
    return list(sources.values())


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
        yield from (Path(folder, name) for name in names if is_named_for_pages(name))


def _refuse_directory(error: OSError) -> None:
    raise SourceRefused(f"{error.filename}: {_reason(error)}; expected a directory that can be read") from error


def _look_at(path: Path) -> ImportSource:
    try:
        # Opening a pipe would wait for whoever writes into it.
        if not stat.S_ISREG(path.stat().st_mode):
            raise SourceRefused(f"{path}: not a regular file; {_EXPECTED}")
        with path.open("rb") as file:
            facts, compression = os.fstat(file.fileno()), compression_of(file.read(MAGIC_BYTES), path.name)
            file.seek(0)
            found = format_of_file(file, compression, str(path))
    except OSError as error:
        raise SourceRefused(f"{path}: {_reason(error)}; expected a file that can be read") from error
    return ImportSource(path, facts.st_size, facts.st_mtime_ns, compression, found)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

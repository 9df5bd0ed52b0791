"""The index file of a finished WARC file: one sorted line for each response, as replay tools read it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from weft.archive.surt import surt

SUFFIX: Final = ".cdxj"
PART_SUFFIX: Final = ".cdxj.part"
REVISIT: Final = "warc/revisit"


class Capture(NamedTuple):
    """What an index line says of a record, apart from where it is."""

    url: str
    timestamp: str
    """YYYYMMDDhhmmss"""
    mime: str
    status: int
    digest: str
    """Base32 of the payload's SHA-1; empty where there is none."""

    @property
    def is_listed(self) -> bool:
        """Not a 304: replay tools would show it, an empty page, in place of the capture that it confirms."""
        return self.status != 304


class RecordPosition(NamedTuple):
    file: str
    offset: int
    length: int


def line(capture: Capture, position: RecordPosition) -> bytes:
    fields = {
        "url": capture.url,
        "mime": capture.mime or "unk",
        "status": str(capture.status),
        "digest": capture.digest or "-",
        "length": str(position.length),
        "offset": str(position.offset),
        "filename": position.file,
    }
    return f"{surt(capture.url)} {capture.timestamp} {json.dumps(fields)}\n".encode()


def offset_and_length(index_line: bytes) -> tuple[int, int]:
    """Offset and length in a line; ValueError when it is none."""
    fields = json.loads(index_line[index_line.index(b"{") :])
    return int(fields["offset"]), int(fields["length"])


def write_index(warc: Path, lines: Iterable[bytes]) -> Path:
    """Write the index of a finished file; it is there whole or not at all."""
    path = index_of(warc)
    aside = path.with_name(f"{path.name}.new")
    with aside.open("wb") as file:
        file.writelines(sorted(lines))
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    return path


def index_of(warc: Path) -> Path:
    return warc.with_name(warc.name.removesuffix(".warc.gz") + SUFFIX)


def part_of(warc: Path) -> Path:
    """The lines of a file that is still being written, in the order of its records."""
    return warc.with_name(warc.name.removesuffix(".warc.gz") + PART_SUFFIX)

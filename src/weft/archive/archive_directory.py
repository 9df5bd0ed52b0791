"""The directory of an archive: who may begin or repair a file in it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from weft.archive.archive_errors import ArchiveUnwritable
from weft.errors import why_unwritable

WARC_SUFFIX: Final = ".warc.gz"
OUR_FILES: Final = f"weft-*{WARC_SUFFIX}"
"""Others may put their own archives in the same directory; those are not touched."""
_LOCK: Final = "archive.lock"


def prepare(directory: Path) -> None:
    """Make the directory, and see that it can be written to."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with locked(directory):
            pass
    except OSError as error:
        raise unwritable(directory, error) from error


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """One process at a time begins a file or looks for abandoned ones."""
    handle = os.open(directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync_directory(directory: Path) -> None:
    """A file's name survives a power cut too."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_bytes(directory: Path) -> int:
    """Raises ArchiveUnwritable for a directory that is gone, or on a disk that is."""
    try:
        return shutil.disk_usage(directory).free
    except OSError as error:
        raise ArchiveUnwritable(directory, f"cannot be looked at: {error.strerror}") from error


def unwritable(path: Path, error: OSError) -> ArchiveUnwritable:
    return ArchiveUnwritable(path, f"cannot be written: {why_unwritable(error)}")

"""A file that is there whole or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from weft import failpoints
from weft.errors import UsageError, WeftError, is_disk_full, why_unwritable

PART: Final = ".weft-part"
"""Added to the name of a file while it is being written. One left by a kill goes with the next export to that name."""

_BUFFER: Final = 1 << 20


class ExportUnwritable(WeftError):  # noqa: N818 - the state of a disk, as with the store's errors
    """The disk is full, read-only or failing."""

    def __init__(self, name: Path | str, error: OSError) -> None:
        problem = why_unwritable(error) if is_disk_full(error) else f"it cannot be written: {why_unwritable(error)}"
        super().__init__(f"{name}: {problem}; the export was cancelled")


class Sink:
    """Takes the bytes of an export and counts them; what goes wrong is told in our words."""

    def __init__(self, file: IO[bytes], name: Path | str) -> None:
        self._file, self._name = file, name
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        try:
            failpoints.point("export.write")
            self._file.write(data)
        except BrokenPipeError:
            raise  # the reader of our output has seen enough
        except OSError as error:
            raise ExportUnwritable(self._name, error) from error
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise ExportUnwritable(self._name, error) from error


@contextmanager
def whole_file(path: Path, *, replace: bool) -> Iterator[Sink]:
    """A sink whose bytes appear at `path` when the block is left without an error, synced and all at once.

    A file that is there already is refused unless `replace`; it stays until the new one takes its place. A symbolic
    link is followed, as by whoever opens it.
    """
    refuse_taken(path, replace=replace)
    real = Path(os.path.realpath(path))
    part = real.with_name(real.name + PART)
    try:
        file = _claimed(part)
    except OSError as error:
        raise ExportUnwritable(path, error) from error
    try:
        sink = Sink(file, path)
        yield sink
        sink.flush()
        refuse_taken(path, replace=replace)
        _appear(real, part, file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        with suppress(OSError):  # on a full disk, what is still in the buffer
            file.close()


def refuse_taken(path: Path, *, replace: bool) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ExportUnwritable(path, error) from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path}: not an ordinary file; give a file name, or - for standard output")
    if not replace:
        raise UsageError(f"{path}: this file exists; give another name, or replace it with --force")


def _appear(path: Path, part: Path, file: IO[bytes]) -> None:
    try:
        os.fsync(file.fileno())
        failpoints.point("export.rename")
        part.rename(path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise ExportUnwritable(path, error) from error


def _claimed(part: Path) -> IO[bytes]:
    """The part file, made anew and locked while this process lives; a leftover is removed, a living one refused."""
    while True:
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise UsageError(f"{part}: another export is writing this file; wait for it or give another name") from None
        if _is_new(handle, part):
            return os.fdopen(handle, "wb", buffering=_BUFFER)
        os.close(handle)


def _is_new(handle: int, part: Path) -> bool:
    """Whether the locked file is empty and has its name; one that is not empty loses it."""
    with suppress(FileNotFoundError):
        if not os.path.samestat(os.fstat(handle), part.stat()):
            return False
        if os.fstat(handle).st_size == 0:
            return True
        part.unlink()
    return False

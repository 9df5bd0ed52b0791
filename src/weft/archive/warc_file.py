"""One WARC file while it is written: what is synced stays, what is not can be taken back."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from weft.archive import cdxj

_BUFFER: Final = 4 << 20
# What fdatasync leaves out (times) nobody asks for; the length of a grown file is not left out.
_sync = getattr(os, "fdatasync", os.fsync)


class WarcFile:
    """Locked for as long as it is open, so that nobody takes it for one that a dead process left behind.

    Every method may raise OSError; then only give_up() makes sense.
    """

    def __init__(self, path: Path, beginning: bytes) -> None:
        self.path = path
        self._handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.size = self.records = self._written = self._durable = 0
        self._buffer: list[bytes] = []
        self._lines: list[bytes] = []
        self._index = cdxj.part_of(path).open("ab")
        self.append([beginning])

    def append(self, pieces: Iterable[bytes]) -> cdxj.RecordPosition:
        """Add one member at the end."""
        offset = self.size
        for piece in pieces:
            self._buffer.append(piece)
            self.size += len(piece)
            if self.size - self._written > _BUFFER:
                self._flush()
        self.records += 1
        return cdxj.RecordPosition(self.path.name, offset, self.size - offset)

    def add_line(self, line: bytes) -> None:
        self._lines.append(line)

    def write_out(self) -> None:
        self._flush()

    def sync(self) -> None:
        """Everything appended so far survives a power cut once this returns."""
        self._flush()
        _sync(self._handle)
        if not os.fstat(self._handle).st_nlink:
            # Whatever goes into it now, nobody can ever read.
            raise OSError(errno.ENOENT, "its file was removed while it was written")
        self._durable = self.size
        # After the records: a line in this file means that its record is safe.
        self._index.writelines(self._lines)
        self._index.flush()
        self._lines.clear()

    def finish(self) -> None:
        """Write the index next to the file. Nobody prunes it before release()."""
        self.sync()
        self._index.close()
        part = cdxj.part_of(self.path)
        cdxj.write_index(self.path, part.read_bytes().splitlines(keepends=True))
        part.unlink()

    def release(self) -> None:
        os.close(self._handle)

    def give_up(self) -> None:
        """Take back what was not synced and let go; the next start finishes the file."""
        # What fails here is put right from the records at the next start.
        with suppress(OSError):
            os.ftruncate(self._handle, self._durable)
        with suppress(OSError):
            self._index.close()
        if not self._durable:
            with suppress(OSError):
                cdxj.part_of(self.path).unlink()
                self.path.unlink()
        os.close(self._handle)

    def _flush(self) -> None:
        rest = memoryview(b"".join(self._buffer))
        self._buffer.clear()
        while rest:
            written = os.pwrite(self._handle, rest, self._written)
            self._written += written
            rest = rest[written:]

"""A body while it is received: in memory while it is small, on disk beyond that."""

from __future__ import annotations

import logging
import tempfile
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

from weft.archive.warc_records import LARGE

log = logging.getLogger(__name__)


class ReceivedBody:
    """Holds at most LARGE bytes in memory, however much comes."""

    __slots__ = ("_chunks", "_file", "_spool", "size")

    def __init__(self, spool: Path) -> None:
        self._chunks: list[bytes] = []
        self._file: BinaryIO | None = None
        self._spool = spool
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self._file is None and self.size > LARGE:
            self._spill()
        if self._file is None or not self._wrote(chunk):
            self._chunks.append(chunk)

    def take(self) -> bytes | mmap:
        """All of it."""
        if self._file is None:
            return b"".join(self._chunks)
        if self._chunks:
            # The disk gave up in the middle: the rest waits in memory.
            self._file.seek(0)
            return self._file.read() + b"".join(self._chunks)
        self._file.flush()
        return mmap(self._file.fileno(), 0, access=ACCESS_READ)

    def _spill(self) -> None:
        try:
            self._file = tempfile.TemporaryFile(dir=self._spool, buffering=0)  # noqa: SIM115 - closed with the object
        except OSError as error:
            log.warning("large body kept in memory reason=%s", error.strerror)
            return
        chunks, self._chunks = self._chunks, []
        if chunks and not self._wrote(b"".join(chunks)):
            self._chunks = chunks

    def _wrote(self, chunk: bytes) -> bool:
        if self._file is None or self._chunks:
            return False
        before = self._file.tell()
        try:
            if self._file.write(chunk) == len(chunk):
                return True
        except OSError as error:
            log.warning("large body kept in memory reason=%s", error.strerror)
        self._file.truncate(before)
        self._file.seek(before)
        return False

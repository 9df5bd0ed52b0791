"""Fairness among the writers of a SQLite file; SQLite itself lets in whoever happens to look at the right moment."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class WriteGate:
    """A gate that every writer passes first, and that a writer who waited too long closes behind it.

    Without it a writer among busy ones was seen to wait for seconds, at transactions of less than a millisecond. A
    queue for all would be fair too, and five times as slow: each transaction would wait for another process to wake.
    The kernel opens the gate when a process dies.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def pass_gate(self) -> None:
        """Wait while somebody else has it closed."""
        self._lock(fcntl.LOCK_SH)
        self._lock(fcntl.LOCK_UN)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else begins to write; those who have begun come to their end."""
        self._lock(fcntl.LOCK_EX)
        try:
            yield
        finally:
            self._lock(fcntl.LOCK_UN)

    def _lock(self, how: int) -> None:
        if self._file is None:
            self._file = self._path.open("ab")
        fcntl.flock(self._file, how)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

"""Many short byte strings in one buffer: each costs its bytes and four more, where an object would cost fifty."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

_OFFSET: Final = "I"


class PackedBytes:
    """A sequence, as far as indexing and bisection need one."""

    __slots__ = ("_buffer", "_ends")

    def __init__(self, items: Iterable[bytes]) -> None:
        kept = list(items)
        self._buffer = b"".join(kept)
        self._ends = array(_OFFSET, accumulate(map(len, kept), initial=0))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, position: int) -> bytes:
        if not 0 <= position < len(self._ends) - 1:
            raise IndexError(position)
        return self._buffer[self._ends[position] : self._ends[position + 1]]

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return len(self._buffer) + len(self._ends) * self._ends.itemsize

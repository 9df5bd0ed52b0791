"""Makes the allocator give memory back, so that a process that needed much once does not hold it for ever."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of glibc's malloc.h."""
_LARGE: Final = 4 << 20
"""Bytes from which on an allocation is a mapping of its own and leaves the process when it is freed."""
_KEPT: Final = 64 << 20
"""Free bytes at the top of the heap that stay: giving back what the next round needs again costs page faults."""
_ARENAS: Final = 2


def return_memory() -> None:
    """For a process with many threads and large values; call it before the threads are started.

    By default every thread has an arena of its own, and what counts as large grows to 32 MiB with use: then neither is
    given back. Does nothing where the allocator is not glibc's.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, _ARENAS)
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_TRIM_THRESHOLD, _KEPT)

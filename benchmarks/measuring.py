"""Time, memory and disk, measured the same way everywhere."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class Stopwatch:
    """Wall and CPU seconds of this process since it was made, less those in which it was paused."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()
        self._left_out = [0.0, 0.0]
        self.wall = self.cpu = 0.0

    @contextmanager
    def paused(self) -> Iterator[None]:
        began = time.perf_counter(), time.process_time()
        yield
        self._left_out[0] += time.perf_counter() - began[0]
        self._left_out[1] += time.process_time() - began[1]

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._began[0] - self._left_out[0]

    def stop(self) -> None:
        self.wall = self.elapsed
        self.cpu = time.process_time() - self._began[1] - self._left_out[1]


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def disk_used(path: Path) -> int:
    """Bytes of a file with its companions, or of everything in a directory."""
    files = [path, *path.parent.glob(path.name + "-*")] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


def peak_memory() -> int:
    """The most memory that this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

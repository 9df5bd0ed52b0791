"""Work in a process of its own, so that its CPU and its memory are nobody else's."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_EVERY = 0.05


def apart(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What `work` returns, from a new process; not a forked one, which engines' threads would not survive."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args, **named).result()


@dataclass
class PeakMemory:
    """Bytes: in all, and those that no file stands behind, which nobody can take back."""

    all: int = 0
    own: int = 0
    at_begin: int = 0


@contextmanager
def watching_memory() -> Iterator[PeakMemory]:
    """Of this process; `all` as the kernel counted it, `own` as often seen."""
    peak, ended = PeakMemory(at_begin=_status("RssAnon")), Event()

    def watch() -> None:
        while not ended.wait(_EVERY):
            peak.own = max(peak.own, _status("RssAnon"))

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()
        peak.own = max(peak.own, _status("RssAnon"))
        # Not getrusage: there a new process begins with its parent's peak.
        peak.all = _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


class CpuWatch:
    """Seconds since it was made: of this thread, and of all threads of this process."""

    def __init__(self) -> None:
        self._own, self._all, self._wall = time.thread_time(), time.process_time(), time.perf_counter()

    @property
    def own(self) -> float:
        return time.thread_time() - self._own

    @property
    def all(self) -> float:
        return time.process_time() - self._all

    @property
    def wall(self) -> float:
        return time.perf_counter() - self._wall

"""What a process and its workers use of the machine, told with every heartbeat."""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_PROC: Final = Path("/proc")
_PAGE: Final = resource.getpagesize()
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_USER_TICKS, _SYSTEM_TICKS = 11, 12
"""Fields of /proc/PID/stat behind the name of the process."""


class ProcessFigures:
    """Of this process, and of the processes that it started: the index process parses in others."""

    def __init__(self) -> None:
        self._started = time.time()
        self._cpu = 0.0

    def facts(self) -> dict[str, Any]:
        """What cannot be had on this system is left out."""
        children = _children()
        # Ticks are coarser than what is left of a worker that has ended: a counter must not fall for that.
        self._cpu = max(self._cpu, _own_cpu() + sum(map(_cpu_of, children)))
        facts: dict[str, Any] = {"started": round(self._started, 3), "cpu": round(self._cpu, 3)}
        with suppress(OSError):
            facts["memory"] = _memory_of(os.getpid()) + sum(map(_memory_of, children))
            facts["files"] = sum(1 for _ in (_PROC / "self" / "fd").iterdir())
        facts["files_most"] = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return facts


def _own_cpu() -> float:
    """Of this process, and of workers that have ended."""
    uses = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _children() -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in (_PROC / "self" / "task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def _memory_of(process: int) -> int:
    try:
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE
    except FileNotFoundError:
        if process == os.getpid():
            raise
        return 0  # it has ended meanwhile


def _cpu_of(process: int) -> float:
    try:
        # The name may hold anything, but the last bracket is its end.
        fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])) / _TICKS

"""Processes that are not our children: whether they live."""

from __future__ import annotations

import subprocess
from pathlib import Path

_PROC = Path("/proc/self/stat").exists()


def is_running(pid: int, mark: str = "") -> bool:
    """Whether it lives, with `mark` in its command line: a number may have gone to another process since."""
    state, command = _linux(pid) if _PROC else _other(pid)
    # One that is just ending has no command line any more, and is not gone yet.
    return state not in {"", "Z", "X"} and (mark in command or not command)


def _linux(pid: int) -> tuple[str, str]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        command = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return "", ""
    return stat.rpartition(") ")[2][:1], command


def _other(pid: int) -> tuple[str, str]:
    command = ["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return said[:1], said

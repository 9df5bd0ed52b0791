"""Runs one node as its child, and ends it when the process that wanted it is gone, however that ended.

Started as a program: keeper.py OWNER PID_FILE REMOVE COMMAND…, with 0 for no owner. PID_FILE gets the pids of
the node and of the keeper; REMOVE is a directory to remove after the owner, or empty.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tools.cassandra.processes import is_running

_INTERVAL = 0.3
_PR_SET_PDEATHSIG = 1


def main() -> int:
    owner, pid_file, remove, *command = sys.argv[1:]
    prctl = getattr(ctypes.CDLL(None), "prctl", None)

    def die_with_the_keeper() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    # The keeper has one thread.
    node = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_the_keeper)  # noqa: PLW1509
    _write(Path(pid_file), node.pid)
    while node.poll() is None:
        if int(owner) and not is_running(int(owner)):
            node.kill()
            node.wait()
            if remove:
                shutil.rmtree(remove, ignore_errors=True)
        time.sleep(_INTERVAL)
    return node.returncode


def _write(path: Path, pid: int) -> None:
    new = path.with_suffix(".new")
    new.write_text(f"{pid} {os.getpid()}")
    new.replace(path)


if __name__ == "__main__":
    sys.exit(main())

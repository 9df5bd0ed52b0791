"""`weft run web` as a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENDS_WITHIN = 15
"""Seconds: far from a minute of patience, also on a slow machine."""


@contextmanager
def run_web(home: Path, *sets: str) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """The process, its port, and the file with what it says on standard error."""
    said = home.parent / f"{home.name}-{time.monotonic_ns()}.said"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    command = [sys.executable, "-m", "weft", "run", "web", "--home", str(home), "--set", 'web.listen="127.0.0.1:0"']
    with said.open("w") as output:
        process = subprocess.Popen(
            [*command, *(part for one in sets for part in ("--set", one))],
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            env=clean,
        )
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"web app at http://127\.0\.0\.1:(\d+)/\n", line)
        assert found, (line, said.read_text())
        yield process, int(found[1]), said
    finally:
        process.kill()
        process.wait()

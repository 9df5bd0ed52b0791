"""Imports that are killed: whatever happened before, the next one finds a run that is not finished."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support.weft_command import weft


def leave_unfinished(command: list[str], cwd: Path) -> None:
    """Kill the import once more, after a round of its own: random kills may all have come too early or too late."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    for _ in range(5):
        environment["WEFT_FAIL"] = "import.round.after:1:kill"
        subprocess.run(
            command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        if "import  run" in weft("scan", "meta", "--row", "import", cwd=cwd).stdout:
            return
    raise AssertionError("no run was left unfinished; this test would prove nothing")

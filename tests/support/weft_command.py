"""Running weft as a user does: a process, its output and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WITHOUT_WEB = {"WEFT_WEB_SERVE": "false"}
"""For crawls that nobody watches."""


def weft(*arguments: str, cwd: Path, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return subprocess.run(
        [sys.executable, "-m", "weft", *arguments],
        cwd=cwd,
        env={**clean, **WITHOUT_WEB, **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def one_sentence(run: subprocess.CompletedProcess[str]) -> str:
    assert run.stderr.startswith("weft: ")
    assert run.stderr.count("\n") == 1, "an error is one line, without a traceback"
    return run.stderr

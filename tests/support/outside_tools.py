"""Programs of others that do not fit into our own environment: installed below .venv when a test first needs them.

Where that fails, tests are skipped with the reason; long ones fail: nobody runs those without wanting an answer.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

_PROJECT = Path(__file__).resolve().parents[2]
_PATIENCE = 240.0


class Impossible(Exception):  # noqa: N818
    """A tool cannot be installed here, and why."""


def or_skip(request: pytest.FixtureRequest, name: str, version: bytes, install: Callable[[Path], None]) -> Path:
    try:
        return _installed(name, version, install)
    except Impossible as reason:
        if request.node.get_closest_marker("long"):
            pytest.fail(f"{name} cannot be installed: {reason}")
        pytest.skip(f"{name} cannot be installed: {reason}")


def _installed(name: str, version: bytes, install: Callable[[Path], None]) -> Path:
    tools = Path(os.environ.get("WEFT_TOOLS") or _PROJECT / ".venv/tools")
    tools.mkdir(parents=True, exist_ok=True)
    place = tools / f"{name}-{sha256(version).hexdigest()[:12]}"
    with (tools / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (place / ".ready").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            install(place)
            (place / ".ready").touch()
    return place


def run(*command: str, cwd: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except OSError as error:
        raise Impossible(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Impossible(f"{command[0]} took more than {_PATIENCE:.0f} s") from error
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines()
        raise Impossible(f"{command[0]} says: {said[-1] if said else done.returncode}")

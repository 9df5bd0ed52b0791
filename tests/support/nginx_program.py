"""Where the nginx for tests is: an installed one, or Debian's package unpacked below .venv, without root."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

_TOOLS = Path(sys.prefix) / "tools"
_UNPACKED = _TOOLS / "nginx"
_PROGRAM = "usr/sbin/nginx"
_PATIENCE = 120
# A machine without a network is told so soon.
_APT = ("apt-get", "-o", "Acquire::http::Timeout=15", "-o", "Acquire::Retries=1")


class NoNginxError(Exception):
    """There is no nginx to run, for this reason."""


@pytest.fixture
def nginx_program(request: pytest.FixtureRequest) -> Path:
    """A program that runs. Without one a test is skipped with the reason; a long one fails."""
    found, reason = _search()
    if found is None and request.node.get_closest_marker("long"):
        pytest.fail(reason)
    if found is None:
        pytest.skip(reason)
    return found


@functools.cache
def _search() -> tuple[Path | None, str]:
    try:
        return _checked(_installed() or _unpacked() or _fetched()), ""
    except NoNginxError as error:
        return None, f"needs nginx (Debian: apt install nginx): {error}"


def _installed() -> Path | None:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return Path(found) if found else None


def _unpacked() -> Path | None:
    return _UNPACKED / _PROGRAM if (_UNPACKED / _PROGRAM).exists() else None


def _fetched() -> Path:
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise NoNginxError(f"it is not installed, and there is no {program} to fetch it with")
    _TOOLS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_TOOLS) as place:
        package = _package(Path(place))
        _run("dpkg-deb", "-x", str(package), f"{place}/unpacked")
        # Two test processes may fetch at the same time; one of them is first.
        if not _UNPACKED.exists():
            Path(place, "unpacked").rename(_UNPACKED)
    return _UNPACKED / _PROGRAM


def _package(place: Path) -> Path:
    try:
        _run(*_APT, "download", "nginx", place=place)
    except NoNginxError:
        if os.geteuid():
            raise
        # The lists of packages may be missing or older than the packages.
        _run(*_APT, "update", place=place)
        _run(*_APT, "download", "nginx", place=place)
    return next(place.glob("nginx_*.deb"))


def _checked(program: Path) -> Path:
    _run(str(program), "-v")
    return program


def _run(*command: str, place: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoNginxError(f"{command[0]}: {error}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("W:")] or ["no reason given"]
        raise NoNginxError(f"{' '.join((command[0], *command[-2:]))}: {lines[-1]}")

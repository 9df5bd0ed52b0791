"""Programs of others that read archives: pywb, which replays them, and jwarc, which checks them.

Neither fits into our own environment: pywb wants old versions of what weft wants new, and jwarc is written in Java.
So they are installed apart, by `outside_tools`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.free_ports import free_port
from support.outside_tools import Impossible, or_skip, run

_PROJECT = Path(__file__).resolve().parents[2]
_LOCK = _PROJECT / "tests/tools/pywb.lock"
_JWARC = "org.netpreserve:jwarc:0.31.1"
_PATIENCE = 240.0


@pytest.fixture
def pywb(request: pytest.FixtureRequest) -> Path:
    """The Python of an environment with pywb."""
    return or_skip(request, "pywb", _LOCK.read_bytes(), _install_pywb) / "bin/python"


@pytest.fixture
def jwarc(request: pytest.FixtureRequest) -> Path:
    """The jar of jwarc."""
    return next(or_skip(request, "jwarc", _JWARC.encode(), _install_jwarc).glob("jwarc-*.jar"))


def _install_pywb(place: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", str(place))
    uv = (str(Path(sys.executable).parent / "uv"), "pip", "install", "--quiet", "--python", str(place / "bin/python"))
    run(*uv, "--require-hashes", "--requirement", str(_LOCK))


def _install_jwarc(place: Path) -> None:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Impossible(f"there is no {tool}")
    run("mvn", "-B", "-q", "dependency:copy", f"-Dartifact={_JWARC}", f"-DoutputDirectory={place}", cwd=place)


@dataclass
class Replay:
    """A pywb that serves the files of one archive directory as they lie there, with the indexes that weft wrote."""

    port: int

    def latest(self, url: str) -> tuple[int, bytes]:
        """Status and body of the latest capture, as they were sent."""
        # Without this header pywb would decode what was sent encoded.
        address, headers = f"http://127.0.0.1:{self.port}/weft/id_/{url}", {"Accept-Encoding": "gzip, br, zstd"}
        request = urllib.request.Request(address, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


@contextmanager
def replaying(python: Path, archive: Path, place: Path) -> Iterator[Replay]:
    """Start pywb in `place`, as docs/archive.md says."""
    place.mkdir(exist_ok=True)
    (place / "config.yaml").write_text(
        f"collections:\n  weft:\n    index_paths: {archive}/\n    archive_paths: {archive}/\n"
    )
    port = free_port()
    command = [str(python), "-m", "pywb.apps.cli", "-b", "127.0.0.1", "-p", str(port)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "PYTHON"))}
    with (place / "pywb.out").open("wb") as output:
        process = subprocess.Popen(command, cwd=place, env=clean, stdout=output, stderr=output)
    try:
        _wait_until_it_answers(process, port, place / "pywb.out")
        yield Replay(port)
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60):
                return
        except OSError:
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < until, output.read_text()
            time.sleep(0.1)


def jwarc_faults(jar: Path, *files: Path) -> str:
    """What `jwarc validate` has to say against these files; empty: nothing."""
    command = ["java", "-jar", str(jar), "validate", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr

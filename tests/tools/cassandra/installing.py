"""Cassandra's jars, fetched with Maven once and kept outside the checkout."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from tools.cassandra.problems import NoCassandraError

_POM = Path(__file__).with_name("pom.xml")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"
_PATIENCE = 600.0


def cache() -> Path:
    return Path(os.environ.get("WEFT_CACHE") or Path.home() / ".cache/weft")


def version() -> str:
    found = re.search(r"<cassandra\.version>(.+?)<", _POM.read_text())
    assert found is not None
    return found[1]


def jars() -> Path:
    """Where the jars of this version are, or will be."""
    return cache() / f"cassandra-{version()}-{sha256(_POM.read_bytes()).hexdigest()[:12]}"


def install(say: Callable[[str], None] = lambda _: None) -> Path:
    """The directory of the jars. It is complete, or there is none; two installers wait for each other."""
    place = jars()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / "cassandra.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (place / ".ready").exists():
                say(f"Fetching Cassandra {version()} with Maven (70 MB) …")
                _fetch(place)
                (place / ".ready").touch()
    except OSError as error:
        raise NoCassandraError(
            f"Cassandra cannot be kept in {place} ({error.strerror}); expected to write there."
        ) from error
    return place


def _fetch(place: Path) -> None:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise NoCassandraError(
            "There is no mvn in PATH; expected Maven 3, which fetches Cassandra (Debian: apt install maven)."
        )
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        _run_maven(mvn, place)
    except NoCassandraError:
        shutil.rmtree(place, ignore_errors=True)
        raise
    if not (place / f"cassandra-all-{version()}.jar").exists():
        shutil.rmtree(place, ignore_errors=True)
        raise NoCassandraError(f"Maven fetched no Cassandra; expected cassandra-all-{version()}.jar in {place}.")


def _run_maven(mvn: str, place: Path) -> None:
    expected = "expected that Maven Central, or a mirror in Maven's settings, answers"
    command = [mvn, "-B", "-q", "--strict-checksums", "-f", str(_POM), _COPY]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={place}"]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoCassandraError(f"Maven fetched no Cassandra in {_PATIENCE:.0f} s; {expected}.") from error
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() + done.stderr.splitlines() if line.strip()]
        reason = next(
            (line for line in lines if "ERROR" in line), lines[-1] if lines else f"exit code {done.returncode}"
        )
        raise NoCassandraError(f"Maven fetched no Cassandra {version()}; {expected}. Maven says: {_plain(reason)}")


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line).removeprefix("[ERROR]").strip()[:400]

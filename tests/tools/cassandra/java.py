"""The Java that runs Cassandra 5.0."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tools.cassandra.problems import NoCassandraError

# Cassandra 5.0 runs with 11 and 17; our options are written for 17.
_VERSION = 17
_EXPECTED = f"Cassandra needs Java {_VERSION} (Debian: apt install openjdk-{_VERSION}-jre-headless)"


def find_java() -> str:
    """The program: below JAVA_HOME if that is set, otherwise from PATH."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin/java")) if home else shutil.which("java")
    if java is None:
        raise NoCassandraError(f"There is no java in PATH; {_EXPECTED}.")
    version = _version(java)
    if version != _VERSION:
        raise NoCassandraError(f"{java} is Java {version}; {_EXPECTED}. JAVA_HOME chooses another one.")
    return java


def _version(java: str) -> int:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoCassandraError(f"{java} does not run ({error}); {_EXPECTED}.") from error
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if found is None:
        raise NoCassandraError(f"{java} does not tell its version; {_EXPECTED}.")
    return int(found[1])

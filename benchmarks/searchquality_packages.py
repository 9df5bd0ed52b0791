"""Documentation for `weft bench searchquality`, fetched as packages with the usual clients and kept in a directory."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

_SECONDS = 600


class NotToBeHad(Exception):  # noqa: N818 - what became of a package
    """A package could not be fetched; one sentence."""


class Package(Protocol):
    def fetch(self, directory: Path) -> Path:
        """The file of the package in `directory`, fetched if it is not there."""
        ...

    def files(self, file: Path) -> Iterator[tuple[str, bytes]]:
        """Every regular file in it, by its path."""
        ...


class DebianPackage(NamedTuple):
    """A Debian package, fetched by apt-get and read without installing it."""

    name: str

    def fetch(self, directory: Path) -> Path:
        if found := sorted(directory.glob(f"{self.name}_*.deb")):
            return found[0]
        try:
            _run(["apt-get", "-q", "download", self.name], directory)
        except NotToBeHad:
            # The list of packages may never have been read, or be old.
            _run(["apt-get", "-q", "update"], directory)
            _run(["apt-get", "-q", "download", self.name], directory)
        return _one(directory, f"{self.name}_*.deb")

    def files(self, file: Path) -> Iterator[tuple[str, bytes]]:
        unpacked = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(file)], capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(unpacked.stdout)) as archive:
            for member in archive:
                if member.isfile() and (content := archive.extractfile(member)):
                    yield member.name.removeprefix("./"), content.read()


class JavadocPackage(NamedTuple):
    """The documentation of a Java library, fetched by Maven."""

    group: str
    artifact: str
    version: str

    def fetch(self, directory: Path) -> Path:
        name = f"{self.artifact}-{self.version}-javadoc.jar"
        if not (directory / name).exists():
            wanted = f"-Dartifact={self.group}:{self.artifact}:{self.version}:jar:javadoc"
            goal = "org.apache.maven.plugins:maven-dependency-plugin:copy"
            _run(["mvn", "-q", "-B", goal, wanted, f"-DoutputDirectory={directory}"], directory)
        return _one(directory, name)

    def files(self, file: Path) -> Iterator[tuple[str, bytes]]:
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if not name.endswith("/"):
                    yield name, archive.read(name)


def _one(directory: Path, pattern: str) -> Path:
    if found := sorted(directory.glob(pattern)):
        return found[0]
    raise NotToBeHad(f"{pattern} was not there after it had been fetched.")


def _run(command: Sequence[str], directory: Path) -> None:
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise NotToBeHad(f"The documents are fetched with {command[0]}, which is not installed.") from None
    except subprocess.TimeoutExpired:
        raise NotToBeHad(f"`{' '.join(command)}` did not end within {_SECONDS} s.") from None
    if done.returncode:
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr or done.stdout).strip().splitlines() or ["without a word"]
        raise NotToBeHad(f"`{' '.join(command)}` failed: {said[0]}")

"""The home: the directory that holds all data of one weft."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft.errors import HomeError

SETTINGS_FILE = "weft.toml"
DEFAULT_HOME = "weft-data"
_WORKPLACE = "sort-"


@dataclass(frozen=True, slots=True)
class Home:
    """The path of a home, which may not exist yet."""

    path: Path

    @property
    def settings_file(self) -> Path:
        return self.path / SETTINGS_FILE

    @property
    def store(self) -> Path:
        return self.path / "store"

    @property
    def store_lock(self) -> Path:
        """Locked by the process that writes the store."""
        return self.path / "store.lock"

    @property
    def crawl_lock(self) -> Path:
        """Locked by a running `weft crawl` or `weft up` and by its roles."""
        return self.path / "crawl.lock"

    @property
    def exists(self) -> bool:
        return self.settings_file.is_file() or self.store.is_dir()

    def require(self) -> Home:
        """This home. Raises HomeError with advice if it does not exist."""
        if not self.exists:
            raise HomeError(
                f"{self.path}: no weft home here; create one with `weft init`, or name another with --home or WEFT_HOME"
            )
        return self

    def make(self, settings_text: str) -> bool:
        """Create the directory and its settings file unless they exist; returns whether the file is new."""
        self._refuse_foreign()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if self.settings_file.exists():
                return False
            aside = self.settings_file.with_suffix(".new")
            aside.write_text(settings_text)
            aside.replace(self.settings_file)
        except OSError as error:
            raise HomeError(f"{self.path}: the home cannot be created: {error.strerror}") from error
        return True

    @contextmanager
    def workplace(self) -> Iterator[Path]:
        """A temporary directory for large sorts, on the home's own disk unless that is read-only."""
        for left in self.path.glob(f"{_WORKPLACE}*"):
            if not Path("/proc", left.name.removeprefix(_WORKPLACE)).exists():
                shutil.rmtree(left, ignore_errors=True)  # left by a process that was killed
        directory = self.path / f"{_WORKPLACE}{os.getpid()}"
        try:
            directory.mkdir(exist_ok=True)
        except OSError:
            directory = Path(tempfile.mkdtemp(prefix="weft-"))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise HomeError(f"{self.path}: this is a file; a weft home is a directory")
        if self.path.is_dir() and not self.exists and any(self.path.iterdir()):
            raise HomeError(f"{self.path}: this directory holds other files; use an empty one or a weft home")


def chosen_home(environment: Mapping[str, str]) -> Home:
    """The home that WEFT_HOME names, else the default one in the current directory."""
    return Home(Path(environment.get("WEFT_HOME") or DEFAULT_HOME))

"""The home: the directory that holds all data of one weft."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from weft.errors import HomeError, why_unwritable

SETTINGS_FILE = "weft.toml"
DEFAULT_HOME = "weft-data"
_WORKPLACE = "sort-"
_PRIVATE = 0o700
_OTHERS = 0o077
"""The rights of the group and of everybody else."""


@dataclass(frozen=True, slots=True)
class Home:
    """The path of a home, which may not exist yet."""

    path: Path

    def __post_init__(self) -> None:
        whole = self.path
        with suppress(FileNotFoundError):  # the current directory is gone; whoever needs it says so
            whole = whole.absolute()
        try:
            str(whole).encode()
        except UnicodeEncodeError as error:
            # Libraries take a path as text. In a locale without UTF-8 Python reads no other name than ASCII as text.
            raise HomeError(
                f"{whole}: this name is not UTF-8 text here; choose another directory, or a UTF-8 locale"
            ) from error

    @property
    def settings_file(self) -> Path:
        return self.path / SETTINGS_FILE

    @property
    def store(self) -> Path:
        return self.path / "store"

    def search_row(self, row: int) -> Path:
        """The shards of one replica of the search index."""
        return self.path / "search" / f"row-{row}"

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
        """Create the directory and its settings file unless they exist; returns whether the file is new.

        A new directory is for its owner alone.
        """
        self._refuse_foreign()
        try:
            self._make_directory()
            if self.settings_file.exists():
                return False
            aside = self.settings_file.with_suffix(".new")
            aside.touch(mode=0o600 if self.is_private else 0o666)
            aside.write_text(settings_text, encoding="utf-8")
            aside.replace(self.settings_file)
        except OSError as error:
            raise HomeError(f"{self.path}: the home cannot be created: {why_unwritable(error)}") from error
        return True

    @property
    def is_private(self) -> bool:
        """Whether only its owner may enter it. A new home is; whoever made the directory before chose its mode."""
        return not self.path.stat().st_mode & _OTHERS

    def keep_private(self) -> None:
        """What this process creates from now on is for its owner alone, if the home is."""
        if self.is_private:
            os.umask(_OTHERS)

    @contextmanager
    def workplace(self) -> Iterator[Path]:
        """A temporary directory for large sorts, on the home's own disk unless that is read-only."""
        for left in self.path.glob(f"{_WORKPLACE}*"):
            if not Path("/proc", left.name.removeprefix(_WORKPLACE)).exists():
                shutil.rmtree(left, ignore_errors=True)  # left by a process that was killed
        directory = self.path / f"{_WORKPLACE}{os.getpid()}"
        try:
            directory.mkdir(mode=_PRIVATE, exist_ok=True)
        except OSError:
            directory = Path(tempfile.mkdtemp(prefix="weft-"))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _make_directory(self) -> None:
        if not self.path.is_dir():
            self.path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            self.path.chmod(_PRIVATE)  # an umask may have taken away what the owner needs

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise HomeError(f"{self.path}: this is a file; a weft home is a directory")
        if self.path.is_dir() and not self.exists and any(self.path.iterdir()):
            raise HomeError(f"{self.path}: this directory holds other files; use an empty one or a weft home")


def chosen_home(environment: Mapping[str, str]) -> Home:
    """The home that WEFT_HOME names, else the default one in the current directory."""
    return Home(Path(environment.get("WEFT_HOME") or DEFAULT_HOME))


def write_private(path: Path, text: str) -> None:
    """Write a file for its owner alone: whole or not at all, and never readable by others, not even for a moment.

    Raises OSError.
    """
    descriptor, aside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise

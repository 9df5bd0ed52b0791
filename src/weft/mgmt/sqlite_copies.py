"""Copies of a SQLite control plane: made while it is in use, checked, and put back after damage.

Sites, credentials and what is under way are nowhere else; the store and the archive can do without them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from weft.errors import FULL_DISK, MgmtError, MgmtUnavailable, why_unwritable
from weft.home import Home

FILE: Final = "mgmt.db"
_FOLDER: Final = "backup"
_COMPANIONS: Final = ("", "-wal", "-shm")
"""A database and what belongs to it: a write-ahead log next to another database would spoil that one."""
_PAGES_A_STEP: Final = 256
_INSTRUCTIONS: Final = 100_000
"""Of SQLite's machine, between two looks whether to stop: some milliseconds."""
_PAUSE: Final = 0.005
"""Seconds between two steps: others need the disk too."""


class _Stopped(Exception):  # noqa: N818 - never leaves this module
    pass


def database_of(home: Home) -> Path:
    return home.path / FILE


def copies_of(home: Home) -> list[Path]:
    """Where copies are, the newest first."""
    return [home.path / _FOLDER / FILE, home.path / _FOLDER / f"{FILE}.1"]


def _never() -> bool:
    return False


def damage_of(database: Path, is_stopped: Callable[[], bool] = _never) -> str:
    """What `quick_check` finds first; empty: nothing, or it was stopped. It reads the whole file; nobody else waits."""
    try:
        with closing(_opened(database)) as connection:
            connection.set_progress_handler(is_stopped, _INSTRUCTIONS)
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            has_schema = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'weft_schema'").fetchone()
    except sqlite3.OperationalError as error:
        if _is_busy(error):
            return ""  # nobody could look; the next look will
        return str(error)
    except sqlite3.DatabaseError as error:
        return str(error)
    if not has_schema:
        return "it holds no control plane"
    return "" if found[0] == "ok" else " ".join(str(found[0]).split())


def make_copy(home: Home, is_stopped: Callable[[], bool] = _never) -> Path | None:
    """A whole and checked copy of the control plane as it is now; the one before is kept. Raises MgmtError.

    It is read as of one moment, without holding up anybody who writes, a few pages at a time. None: it was stopped.
    """
    newest, older = copies_of(home)
    part = newest.with_name(f"{FILE}.part")
    try:
        newest.parent.mkdir(mode=0o700, exist_ok=True)
        if not _write_whole(database_of(home), part, is_stopped):
            return None
        if newest.exists():
            newest.replace(older)
        part.replace(newest)
        _sync(newest.parent)
    except (OSError, sqlite3.Error) as error:
        discard(part)
        raise MgmtUnavailable(f"control plane {database_of(home)}: it cannot be copied: {_why(error)}") from error
    return newest


def keep_version(home: Home, version: int) -> Path:
    """A whole and checked copy of the control plane, which is of this version and will be changed; raises MgmtError.

    There is one for each version: it lies beside the control plane, and takes the place of an earlier one.
    """
    kept = database_of(home).with_name(f"{FILE}.version-{version}")
    part = kept.with_name(f"{kept.name}.part")
    try:
        _write_whole(database_of(home), part, _never)
        part.replace(kept)
        _sync(kept.parent)
    except (OSError, sqlite3.Error) as error:
        discard(part)
        raise MgmtUnavailable(f"control plane {database_of(home)}: it cannot be copied: {_why(error)}") from error
    return kept


def _write_whole(database: Path, part: Path, is_stopped: Callable[[], bool]) -> bool:
    """Make `part` a checked copy; False: it was stopped."""
    discard(part)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    _copy_pages(database, part, is_stopped)
    if is_stopped():
        discard(part)
        return False
    if damage := damage_of(part):
        discard(part)
        raise MgmtError(f"control plane {database}: its copy is damaged ({damage}) and was dropped")
    _sync(part)
    return True


def _copy_pages(source: Path, target: Path, is_stopped: Callable[[], bool]) -> None:
    def rest(*_: int) -> None:
        if is_stopped():
            raise _Stopped
        time.sleep(_PAUSE)

    with closing(_opened(source)) as reading, closing(sqlite3.connect(target)) as writing:
        # One read transaction over all steps. Without it, a write by others would let the copy begin again.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        with suppress(_Stopped):
            reading.backup(writing, pages=_PAGES_A_STEP, progress=rest)
        writing.execute("PRAGMA journal_mode = DELETE")


def newest_good_copy(home: Home) -> Path | None:
    return next((copy for copy in copies_of(home) if copy.exists() and not damage_of(copy)), None)


def set_aside(home: Home, why: str = "damaged") -> Path | None:
    """Move what is left of the control plane out of the way; nothing is deleted. Where it is now; None: none was."""
    database = database_of(home)
    moment = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    aside = database.with_name(f"{FILE}.{why}-{moment}")
    for companion in reversed(_COMPANIONS):
        file = Path(f"{database}{companion}")
        if file.exists():
            file.replace(f"{aside}{companion}")
    _sync(home.path)
    return aside if aside.exists() else None


def put_back(home: Home, copy: Path) -> None:
    """Make the copy, which is kept, the control plane; what was there must have been set aside."""
    database = database_of(home)
    part = database.with_name(f"{FILE}.part")
    discard(part)
    with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as target, copy.open("rb") as file:
        shutil.copyfileobj(file, target, 1 << 20)
    _sync(part)
    part.replace(database)
    _sync(home.path)


def _why(error: OSError | sqlite3.Error) -> str:
    if isinstance(error, OSError):
        return why_unwritable(error)
    return FULL_DISK if error.sqlite_errorcode == sqlite3.SQLITE_FULL else str(error)


def _opened(database: Path) -> sqlite3.Connection:
    """To read; SQLite itself may have to write what a write-ahead log needs."""
    return sqlite3.connect(f"file:{_quoted(database)}?mode=rw", uri=True, timeout=10, isolation_level=None)


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return "locked" in str(error) or "interrupted" in str(error)


def discard(part: Path) -> None:
    """Remove a database that is not in use, and what belongs to it."""
    for companion in ("", "-wal", "-shm", "-journal", "-turn"):
        Path(f"{part}{companion}").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Which control plane the settings mean."""

from __future__ import annotations

import os
from pathlib import Path

from weft.config import Settings
from weft.errors import MgmtMissing
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.sqlite_copies import copies_of, database_of


def is_embedded(settings: Settings) -> bool:
    """Whether the control plane is a file in the home."""
    return settings.mgmt.url.startswith("sqlite:")


def open_mgmt(settings: Settings, home: Home) -> Mgmt:
    """The control plane that `[mgmt] url` names, made or brought up to date if need be. Close it.

    None is made where one was: raises MgmtMissing.
    """
    if is_embedded(settings):
        from weft.mgmt.sqlite import SqliteMgmt

        _refuse_a_lost_one(settings, home)
        return SqliteMgmt(database_of(home), settings=settings.mgmt)
    from weft.mgmt.postgres import PostgresMgmt

    return PostgresMgmt(settings.mgmt.url, settings.mgmt)


def open_existing_mgmt(settings: Settings, home: Home) -> Mgmt:
    """The same for a process that must not be the first: raises MgmtMissing where no file was made yet. Close it."""
    if is_embedded(settings) and not _has_content(database_of(home)):
        _refuse_a_lost_one(settings, home)
        raise MgmtMissing(f"control plane {database_of(home)}: there is none yet")
    return open_mgmt(settings, home)


def open_mgmt_to_read(settings: Settings, home: Home) -> Mgmt:
    """The same for questions, which make none and are answered where the home cannot be written. Close it."""
    if not is_embedded(settings):
        return open_mgmt(settings, home)
    _refuse_a_lost_one(settings, home)
    if not database_of(home).exists():
        from weft.mgmt.memory.mgmt import MemoryMgmt

        return MemoryMgmt(settings=settings.mgmt)  # nothing was ever crawled here
    from weft.mgmt.sqlite import SqliteMgmt

    return SqliteMgmt(database_of(home), settings=settings.mgmt, is_read_only=not _is_writable(home))


def mgmt_identity(settings: Settings, home: Home) -> tuple[int, int] | None:
    """Another value when the file of the control plane is another one; None where it is no file of this home."""
    if not is_embedded(settings):
        return None
    try:
        found = database_of(home).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_writable(home: Home) -> bool:
    """SQLite writes next to its file, too."""
    return os.access(home.path, os.W_OK) and os.access(database_of(home), os.W_OK)


def _refuse_a_lost_one(settings: Settings, home: Home) -> None:
    database = database_of(home)
    if _has_content(database):
        return
    if _has_crawled(settings, home):
        what = "is empty" if database.exists() else "is missing"
        raise MgmtMissing(
            f"control plane {database}: it {what}, but this home has been crawled; `weft restore` puts back the newest "
            "copy, `weft restore --without-copy` starts a new one"
        )


def _has_content(database: Path) -> bool:
    return database.exists() and database.stat().st_size > 0


def _has_crawled(settings: Settings, home: Home) -> bool:
    """Whether a control plane was in use here: it leaves more behind than its own file."""
    if any(copy.exists() for copy in copies_of(home)) or database_of(home).with_name("mgmt.db-locks").exists():
        return True
    return any((home.path / settings.spider.warc_dir).glob("*.warc.gz"))

"""Which control plane the settings mean."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from weft.config import Settings
from weft.errors import MgmtMissing, MgmtOutdated, MgmtUnavailable
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.node_locks import is_any_held
from weft.mgmt.sql.migrations import BeforeMigration
from weft.mgmt.sqlite_copies import copies_of, database_of, keep_version

if TYPE_CHECKING:
    from weft.mgmt.sql.mgmt import SqlMgmt

log = logging.getLogger(__name__)


def is_embedded(settings: Settings) -> bool:
    """Whether the control plane is a file in the home."""
    return settings.mgmt.url.startswith("sqlite:")


def open_mgmt(settings: Settings, home: Home, tell: Callable[[str], None] = log.warning) -> SqlMgmt:
    """The control plane that `[mgmt] url` names, made or brought up to date if need be. Close it.

    An older one is changed for good only if this weft can open the store that belongs to it; what it was stays in a
    file, and `tell` is told. None is made where one was: raises MgmtMissing.
    """

    def before_migration(version: int) -> None:
        _require_store(settings, home)
        if is_embedded(settings):
            kept = keep_version(home, version)
            tell(f"control plane {database_of(home)}: bringing it up to date from version {version}; a copy is {kept}")
        else:
            tell(f"control plane of mgmt.url: bringing it up to date from version {version}")

    return _open(settings, home, before_migration)


def _open(
    settings: Settings, home: Home, before_migration: BeforeMigration | None, *, is_read_only: bool = False
) -> SqlMgmt:
    if is_embedded(settings):
        from weft.mgmt.sqlite import SqliteMgmt

        _refuse_a_lost_one(settings, home)
        return SqliteMgmt(
            database_of(home), settings=settings.mgmt, is_read_only=is_read_only, before_migration=before_migration
        )
    from weft.mgmt.postgres import PostgresMgmt

    return PostgresMgmt(settings.mgmt.url, settings.mgmt, before_migration=before_migration)


def _require_store(settings: Settings, home: Home) -> None:
    """Raise if this weft cannot open the store that an older control plane is about."""
    if settings.store.url.startswith("cassandra:"):
        from weft.store.open import open_reader

        open_reader(home.store, settings).close()
        return
    from weft.store.directory import check, is_vacant

    if not is_vacant(home.store):
        check(home.store)
    elif not is_embedded(settings):
        raise MgmtOutdated(
            "control plane of mgmt.url: an older weft made it, and the index is not on this machine; start this weft "
            "where the index is (`weft run index`): if it can open that, it brings the control plane up to date"
        )


def open_existing_mgmt(settings: Settings, home: Home) -> Mgmt:
    """The same for a process that must not be the first: raises MgmtMissing where no file was made yet. Close it.

    It brings none up to date: raises MgmtOutdated.
    """
    if is_embedded(settings) and not _has_content(database_of(home)):
        _refuse_a_lost_one(settings, home)
        raise MgmtMissing(f"control plane {database_of(home)}: there is none yet")
    return _open(settings, home, None)


def open_mgmt_to_read(settings: Settings, home: Home) -> Mgmt:
    """The same for questions, which make none and are answered where the home cannot be written. Close it.

    They bring none up to date: raises MgmtOutdated, or what is wrong with the store, which would not be read either.
    """
    if is_embedded(settings) and not database_of(home).exists():
        _refuse_a_lost_one(settings, home)
        from weft.mgmt.memory.mgmt import MemoryMgmt

        return MemoryMgmt(settings=settings.mgmt)  # nothing was ever crawled here
    try:
        return _open(settings, home, None, is_read_only=is_embedded(settings) and not _is_writable(home))
    except MgmtOutdated:
        _require_store(settings, home)
        raise
    except MgmtUnavailable:
        # On a full disk SQLite cannot even make what it reads with; while nobody writes, it needs nothing of the sort.
        if not is_embedded(settings) or is_any_held(database_of(home).with_name("mgmt.db-locks")):
            raise
        return _open(settings, home, None, is_read_only=True)


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

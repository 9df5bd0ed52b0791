"""The embedded engine: one SQLite file that all processes of a home open."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Final, TypeVar

from weft import failpoints
from weft.clock import Clock
from weft.errors import (
    FULL_DISK,
    MgmtDamaged,
    MgmtError,
    MgmtForeign,
    MgmtOutdated,
    MgmtUnavailable,
    is_disk_full,
    why_unwritable,
)
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.dialect import SQLITE, as_json
from weft.mgmt.sql.migrations import (
    BeforeMigration,
    Migration,
    bring_up_to_date,
    do_nothing,
    is_up_to_date,
    migrations,
    refuse_an_older_one,
)
from weft.mgmt.sql.write_gate import WriteGate

T = TypeVar("T")

BUSY_SECONDS: Final = 60
"""How long one transaction waits for the others; each takes milliseconds."""
_SHORT_WAIT: Final = "PRAGMA busy_timeout = 250"
_LONG_WAIT: Final = f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}"
OLDEST: Final = (3, 38, 0)
_WRITES: Final = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMMAP,
    }
)
_LITTLE_ROOM: Final = 1 << 20
_GIVEN: Final = re.compile(r"\bgiven\.(\w+)")

# FULL: what a call stored survives a power cut, not only the end of the process; a spider says DONE only after that.
_PRAGMAS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -65536",
    "PRAGMA mmap_size = 268435456",
    # A claim or a report changes a page or two per link, many of them again soon: move them home rarely.
    "PRAGMA wal_autocheckpoint = 8192",
)
_FOREIGN_KEYS_OFF: Final = "PRAGMA foreign_keys = OFF"
_FOREIGN_KEYS_ON: Final = "PRAGMA foreign_keys = ON"


@dataclass(frozen=True, slots=True)
class SqliteTransaction:
    connection: sqlite3.Connection
    now: int
    part: int = 0

    def rows(self, sql: str, **values: object) -> list[Row]:
        return self.connection.execute(SQLITE.text(sql), _bound(values)).fetchall()

    def run(self, sql: str, **values: object) -> int:
        return self.connection.execute(SQLITE.text(sql), _bound(values)).rowcount

    def each(self, sql: str, columns: str, given: Sequence[Sequence[object]]) -> list[Row]:
        text, names = _per_row(sql), _names(columns)
        found: list[Row] = []
        for row in given:
            found += self.connection.execute(text, dict(zip(names, row, strict=True)))
        return found

    def change(self, sql: str, columns: str, given: Sequence[Sequence[object]]) -> None:
        # Ten times as fast as one UPDATE from a list in JSON.
        names = _names(columns)
        rows = (dict(zip(names, row, strict=True)) for row in given)
        self.connection.executemany(_per_row(sql), rows)

    def columns(self, table: str) -> list[str]:
        return _described(self.connection.execute(f"SELECT * FROM {table} LIMIT 0"))  # noqa: S608 - our own tables

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Row], number: str) -> int:
        self.connection.execute("PRAGMA defer_foreign_keys = ON")  # until the end of this transaction
        names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
        return self.connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows).rowcount  # noqa: S608

    def serialise(self, what: int) -> None:
        """SQLite lets in one writer at a time."""


def _described(cursor: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in cursor.description]


@lru_cache(maxsize=64)
def _per_row(sql: str) -> str:
    return _GIVEN.sub(r":\1", SQLITE.text(sql))


def _names(columns: str) -> list[str]:
    return [column.partition(":")[0] for column in columns.split()]


def _bound(values: dict[str, object]) -> dict[str, object]:
    return {name: as_json(value) if isinstance(value, list) else value for name, value in values.items()}


class SqliteDatabase:
    """With `is_read_only` the file and its directory are never written; every change is refused.

    Without `before_migration` an older control plane is refused, too.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        is_read_only: bool = False,
        before_migration: BeforeMigration | None = do_nothing,
    ) -> None:
        self._path, self._clock, self._before_migration = path, clock, before_migration
        self._lock = RLock()
        self._gate = WriteGate(path.with_name(f"{path.name}-turn"))
        if sqlite3.sqlite_version_info < OLDEST:
            raise MgmtError(f"SQLite {sqlite3.sqlite_version} is too old; expected 3.38 or later")
        with self._plain_errors():
            if not is_read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                _read_only_uri(path) if is_read_only else path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
                uri=is_read_only,
            )
            try:
                self._prepare_to_read() if is_read_only else self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        """A foreign file is refused before anything is written to it."""
        steps, where = migrations(SQLITE), str(self._path)
        if self._before_migration is None:
            self.read(lambda tx: refuse_an_older_one(tx, steps, _tables(tx), where))
        is_current = self.read(lambda tx: is_up_to_date(tx, steps, _tables(tx), where))
        for pragma in _PRAGMAS:
            self._set(pragma)
        if not is_current:
            # A step may make a table again that others refer to. Within a transaction this pragma does nothing.
            self._set(_FOREIGN_KEYS_OFF)
            self.write(lambda tx: self._migrate(tx, steps, where))
        self._set(_FOREIGN_KEYS_ON)

    def _prepare_to_read(self) -> None:
        steps, where = migrations(SQLITE), str(self._path)
        if not self.read(lambda tx: is_up_to_date(tx, steps, _tables(tx), where)):
            raise MgmtOutdated(
                f"control plane {where}: it was made by an older weft and must be brought up to date, "
                "but this home cannot be written; copy it to where it can be"
            )

    def _migrate(self, tx: Transaction, steps: Sequence[Migration], where: str) -> None:
        bring_up_to_date(tx, steps, _tables(tx), self._script, where, self._before_migration or do_nothing)
        broken = tx.rows("PRAGMA foreign_key_check")
        if broken:
            raise MgmtError(
                f"control plane {where}: {len(broken)} rows refer to rows that are not there; nothing was changed"
            )

    def _set(self, pragma: str) -> None:
        """SQLite does not wait by itself for the lock that a change of the journal needs."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._connection.execute(pragma)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _script(self, sql: str) -> None:
        """Like executescript, but inside the transaction."""
        statement = ""
        for line in sql.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self._connection.execute(statement)
                statement = ""

    def write(self, work: Callable[[Transaction], T]) -> T:
        with self._lock, self._plain_errors():
            self._gate.pass_gate()
            if self._has_begun():
                return self._finish(work)
            with self._gate.alone():
                self._connection.execute("BEGIN IMMEDIATE")
                return self._finish(work)

    def _has_begun(self) -> bool:
        """Whether the database let us in within a moment."""
        self._connection.execute(_SHORT_WAIT)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            return False
        finally:
            self._connection.execute(_LONG_WAIT)
        return True

    def read(self, work: Callable[[Transaction], T]) -> T:
        with self._lock, self._plain_errors():
            self._connection.execute("BEGIN")
            return self._finish(work)

    def _finish(self, work: Callable[[Transaction], T]) -> T:
        try:
            answer = work(SqliteTransaction(self._connection, self._clock.now()))
            failpoints.point("mgmt.commit.before")
            self._connection.execute("COMMIT")
            failpoints.point("mgmt.commit.after")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return answer

    def close(self) -> None:
        with self._lock:
            self._connection.close()
            self._gate.close()

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = FULL_DISK if is_disk_full(error) else f"cannot be made: {why_unwritable(error)}"
            raise MgmtUnavailable(f"control plane {self._path}: {problem}") from error
        except sqlite3.IntegrityError as error:
            raise MgmtError(f"control plane {self._path}: {error}; nothing was changed") from error
        except sqlite3.OperationalError as error:
            problem = FULL_DISK if _is_disk_full(error, self._path) else str(error)
            raise MgmtUnavailable(f"control plane {self._path}: {problem}; nothing was changed") from error
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                raise MgmtDamaged(
                    f"control plane {self._path}: its file is damaged ({error}); "
                    "stop weft and run `weft restore`, which puts back the newest copy"
                ) from error
            raise MgmtForeign(
                f"control plane {self._path}: {error}; expected a database made by weft; nothing was changed; "
                "if it was one, `weft restore` puts back the newest copy"
            ) from error


def _read_only_uri(path: Path) -> str:
    """Where nothing can be written, a write-ahead log that a kill left is read in place; without one, the file is all
    there is, and SQLite must not look for more."""
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    return f"{path.absolute().as_uri()}?{'mode=ro' if has_log else 'immutable=1'}"


def _is_disk_full(error: sqlite3.DatabaseError, path: Path) -> bool:
    """SQLite does not tell what was wrong with a write next to its file."""
    code = int(getattr(error, "sqlite_errorcode", 0))
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return True
    try:
        return code in _WRITES and shutil.disk_usage(path.parent).free < _LITTLE_ROOM
    except OSError:
        return False


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF == sqlite3.SQLITE_CORRUPT


def _tables(tx: Transaction) -> set[str]:
    found = tx.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {name for (name,) in found}

"""The cluster's engine: PostgreSQL, over one connection per process that is made again when it breaks."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import RLock
from typing import Final, TypeVar, cast

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from weft import failpoints
from weft.clock import Clock
from weft.config.text import HIDDEN
from weft.errors import MgmtError, MgmtUnavailable
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.dialect import POSTGRESQL, as_json
from weft.mgmt.sql.migrations import (
    BeforeMigration,
    bring_up_to_date,
    do_nothing,
    is_up_to_date,
    migrations,
    refuse_an_older_one,
)

T = TypeVar("T")
log = logging.getLogger(__name__)

PARTS: Final = 16
"""Of the tallies; processes that fall on different parts never wait for each other there."""
MIGRATING: Final = 0
_LOCK_SPACE: Final = 0x77656674
_FORGOTTEN_AFTER: Final = 7 * 24 * 3_600_000
_NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

# Everything here is found by an index, whatever the planner thinks of tables that just grew from nothing. And a process
# that hangs in the middle of a transaction must not keep its locks for ever.
_SETTINGS: Final = (
    "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off "
    "-c idle_in_transaction_session_timeout=30s -c default_transaction_isolation=read\\ committed"
)


@dataclass(frozen=True, slots=True)
class PostgresTransaction:
    connection: psycopg.Connection[Row]
    now: int
    part: int

    def rows(self, sql: str, **values: object) -> list[Row]:
        return self._execute(sql, values).fetchall()

    def run(self, sql: str, **values: object) -> int:
        return self._execute(sql, values).rowcount

    def each(self, sql: str, columns: str, given: Sequence[Sequence[object]]) -> list[Row]:
        whole = f"SELECT found.* FROM {{rows {columns}}} AS given CROSS JOIN LATERAL ({sql}) AS found"  # noqa: S608
        return self.rows(whole, rows=given)

    def change(self, sql: str, columns: str, given: Sequence[Sequence[object]]) -> None:
        self._execute(sql.replace("{from}", f"FROM {{rows {columns}}} AS given"), {"rows": given})

    def columns(self, table: str) -> list[str]:
        found = self.connection.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608 - our own tables
        return [column.name for column in found.description or ()]

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Row], number: str) -> int:
        names, count = ", ".join(f'"{name}"' for name in columns), 0
        with self.connection.cursor() as cursor:
            # One statement: only at its end must the rows that others refer to be there.
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
                    count += 1
            if number and count:
                newest = f'(SELECT max("{number}") FROM {table})'  # noqa: S608
                cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', '{number}'), {newest})")
        return count

    def serialise(self, what: int) -> None:
        self.connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_SPACE, what))

    def _execute(self, sql: str, values: dict[str, object]) -> psycopg.Cursor[Row]:
        if "rows" in values:
            values["rows"] = as_json(cast("Sequence[object]", values["rows"]))
        return self.connection.execute(POSTGRESQL.text(sql), values or None)


class PostgresDatabase:
    """`patience` is how many seconds a lost connection is tried again; a `clock` replaces its own, in tests.

    Without `before_migration` an older control plane is refused.
    """

    def __init__(
        self,
        url: str,
        patience: float,
        clock: Clock | None = None,
        *,
        before_migration: BeforeMigration | None = do_nothing,
    ) -> None:
        self._url, self._patience, self._clock, self._before_migration = url, patience, clock, before_migration
        self._lock = RLock()
        self._client, self._mark = 0, 0
        self._connection = self._connect()
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    @property
    def where(self) -> str:
        """The database without its password."""
        try:
            facts = conninfo_to_dict(self._url)
        except psycopg.Error:
            return "postgresql://…"
        port = str(facts.get("port", 5432))
        # What is no port was written by somebody who forgot the host, and is a password.
        shown = port if port.replace(",", "").isdecimal() else HIDDEN
        return f"postgresql://{facts.get('host', '')}:{shown}/{facts.get('dbname', '')}"

    def _connect(self) -> psycopg.Connection[Row]:
        try:
            options = f"{_SETTINGS} {conninfo_to_dict(self._url).get('options', '')}"
        except psycopg.Error as error:
            # It quotes what it cannot read, which may be half a password.
            reason = _sentence(error).partition('"')[0].rstrip(" :")
            raise MgmtUnavailable(f"control plane {self.where}: mgmt.url cannot be read: {reason}") from None
        try:
            return psycopg.connect(
                self._url, autocommit=True, connect_timeout=10, application_name="weft", options=options
            )
        except psycopg.Error as error:
            raise MgmtUnavailable(
                f"control plane {self.where}: cannot be reached: {_sentence(error)} (mgmt.url)"
            ) from error

    def _prepare(self) -> None:
        steps = migrations(POSTGRESQL)
        if self._before_migration is None:
            self.read(lambda tx: refuse_an_older_one(tx, steps, _tables(tx), self.where))
        if not self.read(lambda tx: is_up_to_date(tx, steps, _tables(tx), self.where)):
            self._until_it_works(lambda: self._transact("BEGIN", self._migrate))
        self._client = self._until_it_works(lambda: self._transact("BEGIN", _introduced))

    def _migrate(self, tx: Transaction) -> None:
        tx.serialise(MIGRATING)
        before = self._before_migration or do_nothing
        bring_up_to_date(tx, migrations(POSTGRESQL), _tables(tx), self._script, self.where, before)

    def _script(self, sql: str) -> None:
        self._connection.execute(sql)

    def read(self, work: Callable[[Transaction], T]) -> T:
        return self._until_it_works(lambda: self._transact("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work))

    def write(self, work: Callable[[Transaction], T]) -> T:
        with self._lock:
            self._mark += 1
            answers: list[T] = []

            def attempt() -> T:
                if answers and self._is_committed():
                    return answers[-1]
                begin = f"BEGIN; UPDATE client SET mark = {self._mark}, seen = {_NOW} WHERE id = {self._client}"  # noqa: S608
                return self._transact(begin, work, answers)

            return self._until_it_works(attempt)

    def _is_committed(self) -> bool:
        """Whether the call that the connection broke in is done; waits for it, if the server still has it in hand."""
        found = self._connection.execute("SELECT mark FROM client WHERE id = %s FOR UPDATE", (self._client,)).fetchone()
        return found is not None and found[0] == self._mark

    def _transact(self, begin: str, work: Callable[[Transaction], T], answers: list[T] | None = None) -> T:
        with self._lock:
            connection = self._connection
            try:
                cursor = connection.execute(f"{begin}; SELECT {_NOW}", prepare=False)
                while cursor.nextset():
                    pass
                now = cast(Row, cursor.fetchone())[0] if self._clock is None else self._clock.now()
                answer = work(PostgresTransaction(connection, now, self._client % PARTS))
                if answers is not None:
                    answers.append(answer)
                failpoints.point("mgmt.commit.before")
                connection.execute("COMMIT", prepare=False)
                failpoints.point("mgmt.commit.after")
            except BaseException:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            return answer

    def _until_it_works(self, attempt: Callable[[], T]) -> T:
        """Again after a deadlock or a conflict, and with a new connection after a lost one."""
        with self._lock:
            until = time.monotonic() + self._patience
            while True:
                try:
                    return attempt()
                except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                    log.debug("transaction repeated reason=%s", _sentence(error))
                    time.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - no secret
                except psycopg.Error as error:
                    if not self._connection.closed:
                        raise self._plain_error(error) from error
                    self._reconnect(error, until)

    def _plain_error(self, error: psycopg.Error) -> MgmtError:
        kind = MgmtError if isinstance(error, psycopg.IntegrityError) else MgmtUnavailable
        rights = "no rights: " if isinstance(error, errors.InsufficientPrivilege) else ""
        return kind(f"control plane {self.where}: {rights}{_sentence(error)}; nothing was changed")

    def _reconnect(self, error: psycopg.Error, until: float) -> None:
        pause = 0.05
        while True:
            log.warning(
                "connection to the control plane lost, trying again where=%s pause=%.2f reason=%s",
                self.where,
                pause,
                _sentence(error),
            )
            time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311
            try:
                self._connection = self._connect()
                log.info("connection to the control plane is back where=%s", self.where)
                return
            except MgmtUnavailable:
                if time.monotonic() > until:
                    raise
            pause = min(pause * 2, 5.0)

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _introduced(tx: Transaction) -> int:
    """A row of our own for marks; rows of processes that are long gone make room."""
    tx.run("DELETE FROM client WHERE seen < :long_ago", long_ago=tx.now - _FORGOTTEN_AFTER)
    return int(tx.rows("INSERT INTO client (mark, seen) VALUES (0, :now) RETURNING id", now=tx.now)[0][0])


def _tables(tx: Transaction) -> set[str]:
    found = tx.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    return {name for (name,) in found}


def _sentence(error: BaseException) -> str:
    """The first line of what PostgreSQL says."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__

"""The control plane of many machines, in a PostgreSQL database."""

from __future__ import annotations

from weft.clock import Clock
from weft.config.sections import MgmtSettings
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.sql.migrations import BeforeMigration, do_nothing
from weft.mgmt.sql.postgres_database import PostgresDatabase


class PostgresMgmt(SqlMgmt):
    """The database's clock judges leases; a test may give one that it moves by hand."""

    def __init__(
        self,
        url: str,
        settings: MgmtSettings | None = None,
        clock: Clock | None = None,
        *,
        before_migration: BeforeMigration | None = do_nothing,
    ) -> None:
        chosen = settings or MgmtSettings()
        super().__init__(PostgresDatabase(url, chosen.patience, clock, before_migration=before_migration), chosen)

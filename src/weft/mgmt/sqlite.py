"""The control plane of one machine, in a SQLite file."""

from __future__ import annotations

from pathlib import Path

from weft.clock import Clock, SystemClock
from weft.config.sections import MgmtSettings
from weft.mgmt.node_locks import NodeLocks
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.sql.migrations import BeforeMigration, do_nothing
from weft.mgmt.sql.sqlite_database import SqliteDatabase
from weft.mgmt.values import Lease, NodeAbout, NodeId, NodeState, NodeType


class SqliteMgmt(SqlMgmt):
    """All processes are on one machine: its clock is the database's, and a lock tells at once who is dead."""

    def __init__(
        self,
        path: Path,
        clock: Clock | None = None,
        settings: MgmtSettings | None = None,
        *,
        is_read_only: bool = False,
        before_migration: BeforeMigration | None = do_nothing,
    ) -> None:
        database = SqliteDatabase(
            path, clock or SystemClock(), is_read_only=is_read_only, before_migration=before_migration
        )
        super().__init__(database, settings or MgmtSettings())
        self._locks = NodeLocks(path.with_name(f"{path.name}-locks"))

    def register(self, type: NodeType, address: str, row: int = 0, about: NodeAbout | None = None) -> Lease:  # noqa: A002
        self.reap()
        held: list[Lease] = []

        def hold(lease: Lease) -> None:
            if type is NodeType.WEB_APP:
                return  # it has nothing that others could take over, and `weft restore` waits for whoever holds a lock
            self._locks.hold(lease.node, lease.epoch)
            held.append(lease)

        try:
            lease = self._register(type, address, row, about or NodeAbout(), self._settings, hold)
        except BaseException:
            for lease in held:  # of an epoch that never was
                self._locks.let_go(lease.node, lease.epoch)
            raise
        self._locks.drop(lease.node, before=lease.epoch)
        self._locks.tidy(self._living_epochs())
        return lease

    def tell(self, lease: Lease, state: NodeState) -> None:
        super().tell(lease, state)
        if state is NodeState.OFFLINE:
            self._locks.drop(lease.node, before=lease.epoch + 1)

    def _is_dead(self, node: NodeId, epoch: int) -> bool:
        return self._locks.is_free(node, epoch)

    def close(self) -> None:
        super().close()
        self._locks.close()

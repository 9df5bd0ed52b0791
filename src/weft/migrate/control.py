"""The control plane of a migrated index: the same one, told of the new store, or a copy in another database."""

from __future__ import annotations

from contextlib import closing

from weft import failpoints
from weft.actions.restore import let_go
from weft.config import Settings
from weft.config.text import hide_password
from weft.errors import MgmtError, UsageError
from weft.home import Home
from weft.mgmt.open import is_embedded, open_mgmt
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import database_of, discard, put_back, set_aside
from weft.mgmt.values import AdoptedIndex, NodeState, NodeType
from weft.roles.index_ownership import index_address


class MigratedControl:
    def __init__(self, home: Home, old: Settings, new: Settings) -> None:
        self._home, self._old, self._new = home, old, new
        self.moves = old.mgmt.url != new.mgmt.url
        self.name = hide_password(new.mgmt.url)
        if self.moves and is_embedded(old) == is_embedded(new):
            raise UsageError(
                f"--mgmt: the control plane is {hide_password(old.mgmt.url)}; expected the same, or another engine"
            )

    def is_about(self, store: str) -> bool:
        """Whether the new control plane knows the store with this id as its index: the last step but one is done."""
        if is_embedded(self._new) and not database_of(self._home).exists():
            return False
        with closing(open_mgmt(self._new, self._home)) as mgmt:
            recorded = mgmt.index_store()
        return recorded is not None and recorded.id == store

    def check(self, store: str, *, again: bool, may_replace: bool) -> None:
        """Raise an error if the copy of the store with this id, once it is whole, could not be put to use.

        `may_replace`: a control plane in this home, left from before, may be set aside.
        """
        if again and self.is_about(store):
            raise UsageError(
                f"--again would empty an index that {self.name} uses; name another keyspace, or drop both by hand"
            )
        if not self.moves:
            return
        if is_embedded(self._new):
            if database_of(self._home).exists() and not may_replace:
                raise MgmtError(f"control plane {database_of(self._home)}: it is there already; --again sets it aside")
            return
        with closing(PostgresMgmt(self._new.mgmt.url, self._new.mgmt)) as mgmt:
            if not mgmt.is_unused():
                raise MgmtError(f"control plane {self.name}: it is not empty; expected a new database (--mgmt)")

    def refuse_beside_others(self) -> None:
        """In a cluster another index process may be running, or standing by, on another machine."""
        own = index_address(self._old, self._home)
        with closing(open_mgmt(self._old, self._home)) as mgmt:
            for node in mgmt.nodes():
                is_index = node.type is NodeType.INDEX_BUILDER and node.address != own
                if is_index and node.state is not NodeState.OFFLINE:
                    raise UsageError(f"{node.address} is running, or was until a moment ago; stop it first")

    def adopt(self, index: AdoptedIndex) -> int | None:
        """Have the new control plane use this index; how many rows were copied into it, None if it is the old one."""
        failpoints.point("migrate.adopt.before")
        if not self.moves:
            with closing(open_mgmt(self._old, self._home)) as mgmt:
                mgmt.adopt_index(index)
            rows = None
        elif is_embedded(self._new):
            rows = self._into_file(index)
        else:
            with closing(PostgresMgmt(self._new.mgmt.url, self._new.mgmt)) as target:
                rows = self._copy(target, index)
        failpoints.point("migrate.adopt.after")
        return rows

    def _into_file(self, index: AdoptedIndex) -> int:
        """Made aside, and put in its place when it is whole."""
        aside = database_of(self._home).with_name("mgmt.db.migrating")
        discard(aside)
        with closing(SqliteMgmt(aside, settings=self._new.mgmt)) as target:
            rows = self._copy(target, index)
        set_aside(self._home, "replaced")
        put_back(self._home, aside)
        discard(aside)
        return rows

    def _copy(self, target: SqlMgmt, index: AdoptedIndex) -> int:
        if is_embedded(self._old) and not database_of(self._home).exists():
            target.adopt_index(index)  # nothing was ever crawled here
            return 0
        with closing(open_mgmt(self._old, self._home)) as source:
            rows = source.copy_into(target, index, self.name)
        let_go(target)
        return rows

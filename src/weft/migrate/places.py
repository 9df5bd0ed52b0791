"""Where a migrated index goes: a keyspace of a cluster, or the directory of this home, in which it is built aside."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

from weft.config import Settings
from weft.errors import StoreError
from weft.home import Home
from weft.store import directory
from weft.store.api import Batch, CopyStore
from weft.store.migration_note import read_note
from weft.store.open import is_cluster

_ASIDE = "store.migrating"


class TargetPlace(Protocol):
    name: str
    lists_work: bool
    """Whether lists of domains with work are stored there; the owner of a cluster has them in memory."""

    def is_begun(self) -> bool:
        """Whether there may be a copy, whole or not."""

    def id(self) -> str:
        """Of the store that is there; empty: there is none."""

    def refuse_unless(self, *, again: bool) -> None:
        """Raise StoreError where a store stands in the way, unless it may be replaced."""

    def open(self) -> CopyStore:
        """The store, made if need be, as a copy is written into it. Close it."""

    def clear(self) -> None:
        """Let the copy begin anew; what was there is lost, at the latest when the copy is whole."""

    def finish(self, last: Batch, seq: int) -> None:
        """Make the copy, which is closed, a store of its own. Killed at any moment, it may be called again."""


def target_place(settings: Settings, home: Home) -> TargetPlace:
    return ClusterPlace(settings) if is_cluster(settings) else HomePlace(settings, home)


class ClusterPlace:
    lists_work = False

    def __init__(self, settings: Settings) -> None:
        from weft.store.cassandra.address import parse_address

        self._settings, self.name = settings, str(parse_address(settings.store.url))

    def is_begun(self) -> bool:
        return True

    def id(self) -> str:
        with self.open() as store:
            return store.id

    def refuse_unless(self, *, again: bool) -> None:
        """Only whoever looks into the keyspace can tell: the copy does."""

    def open(self) -> CopyStore:
        from weft.store.cassandra.opening import open_to_copy

        return open_to_copy(self._settings)

    def clear(self) -> None:
        from weft.store.cassandra.opening import clear

        clear(self._settings)

    def finish(self, last: Batch, seq: int) -> None:
        with self.open() as store:
            store.write(last, seq)


class HomePlace:
    lists_work = True

    def __init__(self, settings: Settings, home: Home) -> None:
        self._settings, self._store, self.name = settings, home.store, str(home.store)
        self._aside = home.store.with_name(_ASIDE)

    def is_begun(self) -> bool:
        return self._aside.exists() or self._is_unfinished()

    def id(self) -> str:
        return directory.store_id(self._path())

    def refuse_unless(self, *, again: bool) -> None:
        if not again and not self.is_begun() and not directory.is_vacant(self._store):
            raise StoreError(self._store, "it is not empty; `weft migrate --again` replaces it when the copy is whole")

    def open(self) -> CopyStore:
        from weft.store.rocksdb import RocksStore

        return RocksStore(self._path(), self._settings.store)

    def _path(self) -> Path:
        return self._store if not self._aside.exists() and self._is_unfinished() else self._aside

    def _is_unfinished(self) -> bool:
        """Whether the copy stands in its place already, with its note."""
        from weft.store.rocksdb import RocksReader

        if directory.is_vacant(self._store):
            return False
        with RocksReader(self._store, self._settings.store) as reader:
            return read_note(reader) is not None

    def clear(self) -> None:
        from weft.store.rocksdb import RocksStore

        shutil.rmtree(self._aside, ignore_errors=True)
        RocksStore(self._aside, self._settings.store).close()

    def finish(self, last: Batch, seq: int) -> None:
        from weft.store.rocksdb import RocksStore

        if self._aside.exists():
            directory.replace(self._aside, self._store)
        with RocksStore(self._store, self._settings.store) as store:
            store.write(last, seq)
        self._aside.with_name(f"{_ASIDE}.lock").unlink(missing_ok=True)

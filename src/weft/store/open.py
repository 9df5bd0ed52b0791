"""Which engine the settings mean, and how a store of it is opened.

A new engine is one more entry of ENGINES and its form of `[store] url` in config.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from weft.config import Settings
from weft.config.text import hide_password
from weft.store.api import Reader, Store
from weft.store.migration_note import refuse_unfinished

Opened = TypeVar("Opened", bound=Reader)

if TYPE_CHECKING:
    from weft.store.cassandra.registered_store import RegisteredStore


def _open_rocks_reader(path: Path, settings: Settings) -> Reader:
    from weft.store.rocksdb import RocksReader

    return RocksReader(path, settings.store)


def _open_cluster_reader(_: Path, settings: Settings) -> Reader:
    from weft.store.cassandra.opening import open_view

    return open_view(settings)


_READERS: Final[Mapping[str, Callable[[Path, Settings], Reader]]] = {
    "rocksdb": _open_rocks_reader,
    "cassandra": _open_cluster_reader,
}
"""By the scheme of `[store] url`; an engine is imported when it is chosen, because that takes time."""


def is_cluster(settings: Settings) -> bool:
    """Whether the store is on other machines, where several processes may want to own it."""
    return settings.store.url.startswith("cassandra:")


def open_reader(path: Path, settings: Settings) -> Reader:
    """A view of the store, which another process may be writing; an embedded one is at `path`. Close it."""
    return _whole(_READERS[settings.store.url.partition(":")[0]](path, settings), path, settings)


def open_store(path: Path, settings: Settings) -> Store:
    """The embedded store at `path` as its one writer, made if there is none. Close it."""
    from weft.store.rocksdb import RocksStore

    return _whole(RocksStore(path, settings.store), path, settings)


def open_cluster(settings: Settings) -> RegisteredStore:
    """The store of a cluster; it is written by whoever owns it (see `RegisteredStore.own`). Close it."""
    from weft.store.cassandra.opening import open_unowned

    return _whole(open_unowned(settings), Path(), settings)


def _whole(store: Opened, path: Path, settings: Settings) -> Opened:
    """The store, closed again with an error if another one is still being copied into it."""
    try:
        refuse_unfinished(store, hide_password(settings.store.url) if is_cluster(settings) else path)
    except BaseException:
        store.close()
        raise
    return store

"""Which engine the settings mean, and how a store of it is opened.

A new engine is one more entry of ENGINES and its form of `[store] url` in config.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from weft.config.sections import StoreSettings
from weft.errors import UsageError
from weft.store.api import Reader, Store


class Engine(NamedTuple):
    open_reader: Callable[[Path, StoreSettings], Reader]
    open_store: Callable[[Path, StoreSettings], Store]


def _rocksdb() -> Engine:
    from weft.store.rocksdb import RocksReader, RocksStore

    return Engine(RocksReader, RocksStore)


ENGINES: Final[Mapping[str, Callable[[], Engine]]] = {"rocksdb": _rocksdb}
"""By the scheme of `[store] url`; called when it is chosen, because importing an engine takes time."""


def open_reader(path: Path, settings: StoreSettings) -> Reader:
    """A view of the store at `path`, which another process may be writing. Close it."""
    return _engine(settings).open_reader(path, settings)


def open_store(path: Path, settings: StoreSettings) -> Store:
    """The store at `path` as its one writer, made if there is none. Close it."""
    return _engine(settings).open_store(path, settings)


def _engine(settings: StoreSettings) -> Engine:
    scheme = settings.url.partition(":")[0]
    if scheme not in ENGINES:
        known = " or ".join(f"{name}:" for name in ENGINES)
        raise UsageError(f"store.url names the engine {scheme}, which this version cannot use yet; expected {known}")
    return ENGINES[scheme]()

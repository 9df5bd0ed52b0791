"""The embedded engine's settings, if that is the engine which the settings choose."""

from __future__ import annotations

from weft.config.index_sections import StoreSettings
from weft.errors import UsageError


def embedded(settings: StoreSettings) -> StoreSettings:
    if settings.url != "rocksdb:":
        raise UsageError("store.url names a Cassandra cluster, which this version cannot use yet; expected rocksdb:")
    return settings

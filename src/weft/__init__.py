"""weft keeps a live, searchable index of a piece of the web."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.answers.index import Index

__version__ = "0.1.0"


def open(home: str | Path = "weft-data") -> Index:  # noqa: A001 - `weft.open(home)` reads as it should
    """The answers of the weft at `home`, readable while it runs; close it, or use it in a `with`."""
    import os

    from weft.answers.index import Index
    from weft.config import load
    from weft.home import Home
    from weft.model.url import UrlRules
    from weft.store.rocksdb import RocksReader

    place = Home(Path(home)).require()
    settings = load(place.path, os.environ, []).settings
    return Index(RocksReader(place.store, settings.store), UrlRules(settings.url.strip, settings.url.max_length))

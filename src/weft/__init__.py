"""weft keeps a live, searchable index of a piece of the web."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.answers.home_index import HomeIndex

__version__ = "0.1.0"


def open(home: str | Path | None = None) -> HomeIndex:  # noqa: A001 - `weft.open(home)` reads as it should
    """The answers of the weft at `home` (else WEFT_HOME, else ./weft-data), readable while it runs; close it, or use
    it in a `with`."""
    import os

    from weft.answers.home_index import HomeIndex
    from weft.config import load
    from weft.home import Home, chosen_home
    from weft.index.record_access import RecordSource
    from weft.mgmt.open import open_mgmt_to_read
    from weft.model.url import UrlRules
    from weft.roles.run_token import with_run_token
    from weft.search.open import open_shards
    from weft.store.open import open_reader
    from weft.store.timeline import source_of

    place = (Home(Path(home)) if home is not None else chosen_home(os.environ)).require()
    settings = load(place.path, os.environ, []).settings
    reader = open_reader(place.store, settings)
    return HomeIndex(
        reader,
        UrlRules(settings.url.strip, settings.url.max_length),
        lambda: with_run_token(settings, place.path),
        lambda: open_mgmt_to_read(settings, place),
        lambda: open_shards(settings, place, source_of(reader), lambda: open_mgmt_to_read(settings, place)),
        lambda: RecordSource.from_settings(settings, place.path),
    )

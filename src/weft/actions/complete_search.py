"""Brings the search index of a home up to date, for commands that write the store while nothing else runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Final

from weft.clock import SystemClock
from weft.config import Settings
from weft.errors import SearchError
from weft.home import Home
from weft.search.indexer import Indexer
from weft.search.local_shards import LocalShards
from weft.store.api import Reader
from weft.store.timeline import source_of

ROW: Final = 1
"""The row that a home has without anybody asking for it."""
_LOOK_EVERY: Final = 0.5
_PATIENCE: Final = 120.0
"""Seconds that a running index server may take."""


def complete_search(
    home: Home,
    settings: Settings,
    store: Reader,
    say: Callable[[str], None],
    progress: Callable[[int], None],
    *,
    anew: bool = False,
) -> None:
    """When this returns, all that the store has is found, or `say` has told why not: the store is right in any case.

    With `anew`, what is there is not trusted.
    """
    search = settings.indexserver
    with closing(Indexer(store, home.search_row(ROW), source_of(store), search, SystemClock(), progress)) as indexer:
        try:
            shards = range(search.shards)
            if not indexer.own(shards, anew=shards if anew else ()):
                indexer.finish()
                return
        except SearchError as error:
            say(f"search is not complete: {error}; it is completed by the next import or crawl")
            return
    _wait(home, settings, store, say)


def _wait(home: Home, settings: Settings, store: Reader, say: Callable[[str], None]) -> None:
    """Somebody else writes the search index: they do the work."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            shards = LocalShards.open(home.search_row(ROW), source_of(store), settings.indexserver.shards)
            if shards.complete_to >= store.last_seq:
                return
        except SearchError:
            pass  # it is being built
        time.sleep(_LOOK_EVERY)
    say("search is not complete yet; the running index server completes it")

"""Keeps search complete for commands that write the store themselves, and checks it for `weft verify --search`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from weft.cli.invocation import Invocation
from weft.cli.output import say
from weft.cli.progress import lines_now_and_then
from weft.cli.tables import amount

if TYPE_CHECKING:
    from pathlib import Path

    from weft.search.verify import SearchVerification
    from weft.store.api import Reader, Store


def complete_search(invocation: Invocation, store: Store, *, anew: bool = False) -> None:
    """Bring the search index up to date with the store that this process writes; or build it `anew`."""
    from weft.actions import complete_search as action

    progress = partial(lines_now_and_then(), "documents indexed for search")
    action.complete_search(
        invocation.home, invocation.load().settings, store, partial(say, err=True), progress, anew=anew
    )


def compare_search(invocation: Invocation, reader: Reader, directory: Path) -> dict[str, SearchVerification]:
    """Every row of the search index that this home has, by its name."""
    from weft.errors import SearchMissing
    from weft.search.local_shards import shard_directories
    from weft.search.verify import verify_search
    from weft.store.timeline import source_of

    home, settings = invocation.home, invocation.load().settings
    source = source_of(reader)
    rows = sorted(home.search_row(1).parent.glob("row-*"))
    if not rows:
        raise SearchMissing(home.search_row(1))
    shards = {row.name: shard_directories(row, source, settings.indexserver.shards) for row in rows}
    return {name: verify_search(reader, found, directory, lines_now_and_then()) for name, found in shards.items()}


def told_search(found: SearchVerification) -> dict[str, object]:
    names = ("documents", "words", "differences", "behind")
    return {name: getattr(found, name) for name in names}


def spoken_search(row: str, found: SearchVerification) -> str:
    behind = ""
    if found.behind > 0:
        behind = f"; it is {amount(found.behind, 'round')} behind, so this check is not complete"
    elif found.behind:
        behind = "; it is ahead of the index, which was put back: remove it while nothing runs, and it is built again"
    compared = f"{amount(found.documents, 'search document')} and {amount(found.words, 'word')} of some of them"
    return f"{amount(found.differences, 'difference')} in {compared} ({row}){behind}"

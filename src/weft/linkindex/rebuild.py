"""Making the derived cells what the pages call for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Final

from weft.errors import BatchRefused
from weft.linkindex.derived import Progress
from weft.linkindex.external_sort import MEMORY
from weft.linkindex.feed import feed_all_cells
from weft.linkindex.pipeline import count_cell, counted
from weft.linkindex.verify import Comparison
from weft.store.api import Batch, BulkStore, Capability, Reader, Store

Change = tuple[bytes, bytes | None]
"""An encoded key and its new value; None deletes the cell."""

BATCH_BYTES: Final = 64 << 20
"""Changes up to this size are one batch; more of them go through sorted files, which memory does not bound."""


REGISTERED_BYTES: Final = 256 << 20
"""Changes that a cluster takes at once: a batch is registered as a whole before it is written."""


def rebuild(
    store: Store,
    count: str,
    directory: Path,
    progress: Progress | None = None,
    *,
    memory: int = MEMORY,
    batch_bytes: int = BATCH_BYTES,
) -> int:
    """Write what differs from the batch result, all at once; return how many cells that were.

    What the tables count is from then on `count`: that is written in the same step.

    Killed at any moment, it leaves the store as it was or as it should be. Nobody else may write meanwhile: the seq is
    the one after those that were looked at, so that a store which moved on refuses it.
    """
    with _still(store) as view:
        seq = view.last_seq + 1
        marker: list[Change] = [] if counted(view) == count else list(count_cell(count).items())
        comparison = Comparison(view, count, directory, progress, memory)
        changes = ((difference.key, difference.expected) for difference in comparison)
        few = list(_first_bytes(changes, batch_bytes if isinstance(store, BulkStore) else REGISTERED_BYTES))
        following = next(changes, None)
        if following is None:
            return _write(store, marker, few, seq)
        if not isinstance(store, BulkStore):
            raise BatchRefused(
                "of the cluster",
                f"more cells differ than one batch can hold ({REGISTERED_BYTES >> 20} MiB); nothing was changed. Copy "
                "it to an embedded home with `weft migrate`, rebuild it there, and migrate back",
            )
        return _ingest(store, marker, chain(few, [following], changes), seq, directory)


def _still(store: Store) -> AbstractContextManager[Reader]:
    """The store as it is now. Whoever owns a cluster's index is its only writer: nothing changes meanwhile."""
    return store.snapshot() if Capability.ATOMIC in store.capabilities else nullcontext(store)


def _write(store: Store, marker: list[Change], changes: list[Change], seq: int) -> int:
    if marker or changes:
        batch = Batch()
        batch.add(dict([*marker, *changes, *feed_all_cells(seq).items()]))
        store.write(batch, seq)
    return len(changes)


def _ingest(store: BulkStore, marker: list[Change], changes: Iterator[Change], seq: int, directory: Path) -> int:
    number = 0

    def numbered() -> Iterator[Change]:
        nonlocal number
        for change in changes:
            number += 1
            yield change

    # Table META sorts before all others, and the feed behind all derived cells.
    store.ingest(chain(marker, numbered(), sorted(feed_all_cells(seq).items())), seq, directory)
    return number


def _first_bytes(changes: Iterator[Change], limit: int) -> Iterator[Change]:
    """Changes until they have `limit` bytes; the others stay where they are."""
    size = 0
    for key, value in changes:
        yield key, value
        size += len(key) + len(value or b"")
        if size >= limit:
            return

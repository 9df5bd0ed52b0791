"""Making links due before their time, because somebody asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from weft.dispatcher.records import DOMAIN_ROW, DUE, Place, split_due
from weft.dispatcher.work import LinkRound
from weft.store.api import Batch, Store
from weft.store.tables import Table

_BATCH: Final = 1000


def make_due(store: Store, low_water: int, *, fetched_before: int, now: int) -> int:
    """Every link that waits for a later moment and was fetched before `fetched_before` is due now; how many."""
    changed = 0
    waiting = _later(store, now)
    while some := list(islice(waiting, _BATCH)):
        links = LinkRound(store, low_water)
        for (domain, uri), record in zip(some, links.read(some), strict=True):
            if record is not None and record.place is Place.DUE and record.fetched < fetched_before:
                links.put(domain, uri, msgspec.structs.replace(record, due=now))
                changed += 1
        if cells := links.cells():
            store.write(Batch(cells), store.last_seq + 1)
    return changed


def _later(store: Store, now: int) -> Iterator[tuple[bytes, bytes]]:
    """(domain, uri) of links that are due later; names of rows first, for the rows change meanwhile."""
    for row in list(store.rows(Table.LINKS, DOMAIN_ROW)):
        start = (now + 1).to_bytes(8, "big")
        uris = [split_due(cell.qualifier)[1] for cell in store.scan(Table.LINKS, row, DUE, start=start)]
        yield from ((row[len(DOMAIN_ROW) :], uri) for uri in uris)

"""Makes links due before their time: a user asked for it (`weft run index --again`), or a clock was set back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import msgspec

from weft.dispatcher.domain_work import domains
from weft.dispatcher.link_records import DOMAIN_ROW, DUE, LinkPhase, LinkRecord, moment_bytes, split_due
from weft.dispatcher.link_round import LinkRound
from weft.store.api import Batch, Store
from weft.store.tables import Table

_BATCH: Final = 1000


def force_due(store: Store, low_water: int, *, fetched_before: int, now: int) -> int:
    """Make every link due now that is due later and was last fetched before `fetched_before`; returns how many."""

    def forced(record: LinkRecord) -> LinkRecord:
        return msgspec.structs.replace(record, due=now) if record.fetched < fetched_before else record

    return change_due(store, low_water, now, forced)


def change_due(store: Store, low_water: int, now: int, changed_by: Callable[[LinkRecord], LinkRecord]) -> int:
    """Change the records of links that are due later, in batches; returns how many have changed."""
    changed = 0
    waiting = _later(store, now)
    while some := list(islice(waiting, _BATCH)):
        links = LinkRound(store, low_water)
        for (domain, uri), record in zip(some, links.read(some), strict=True):
            if record is not None and record.phase is LinkPhase.DUE and (after := changed_by(record)) != record:
                links.put(domain, uri, after)
                changed += 1
        if cells := links.cells():
            store.write(Batch(cells), store.last_seq + 1)
    return changed


def _later(store: Store, now: int) -> Iterator[tuple[bytes, bytes]]:
    """(domain, uri) of links that are due later; names are read first, because rows change meanwhile."""
    for domain in list(domains(store)):
        cells = store.scan(Table.LINKS, DOMAIN_ROW + domain, DUE, start=moment_bytes(now + 1))
        uris = [split_due(cell.qualifier)[1] for cell in cells]
        yield from ((domain, uri) for uri in uris)

"""Takes back what was handed over to a control plane that is no more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from weft.dispatcher.domain_work import works
from weft.dispatcher.link_records import DOMAIN_ROW, LINK, LinkPhase, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.store.api import Batch, Store
from weft.store.tables import Table

_BATCH: Final = 1000


def take_back_given(store: Store, low_water: int) -> int:
    """Let every link wait again that was handed over and is not back; returns how many."""
    taken = 0
    given = _given(store)
    while some := list(islice(given, _BATCH)):
        links = LinkRound(store, low_water)
        for (domain, uri), record in zip(some, links.read(some), strict=True):
            if record is not None:
                phase = LinkPhase.DUE if record.fetched else LinkPhase.NEW
                links.put(domain, uri, msgspec.structs.replace(record, phase=phase))
        store.write(Batch(links.cells()), store.last_seq + 1)
        taken += len(some)
    return taken


def _given(store: Store) -> Iterator[tuple[bytes, bytes]]:
    """(domain, uri); those of a domain are read first, because its row changes meanwhile."""
    for domain in [domain for domain, work in works(store) if work.outstanding]:
        cells = store.scan(Table.LINKS, DOMAIN_ROW + domain, LINK)
        uris = [cell.qualifier for cell in cells if decode_record(cell.value).phase is LinkPhase.GIVEN]
        yield from ((domain, uri) for uri in uris)

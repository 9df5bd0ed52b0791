"""The newest moment that the store was written at: by it a clock that was set back is noticed, also after a restart.

Then links wait for as long as their own waits are, not for the time that the clock lost.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from weft.dispatcher.force_due import change_due
from weft.dispatcher.link_records import LinkRecord
from weft.linkindex.cells import Cells
from weft.mgmt.rules.clock_jumps import has_gone_back, is_to_be_noted
from weft.store.api import Batch, Column, Reader, Store
from weft.store.encoding import cell_key
from weft.store.tables import Table

log = logging.getLogger(__name__)

_NEWEST: Final = Column(b"clock", b"newest", b"")


def noted(reader: Reader, now: int) -> Cells:
    """The cell that notes this moment, if it is newer by a second or more."""
    return _cell(now) if is_to_be_noted(_newest(reader), now) else {}


def cut_waits(store: Store, low_water: int, now: int) -> int:
    """If the clock was set back, cut the waits of links that were fetched in what is the future now; how many.

    The moment is noted last: after a crash it is done again.
    """
    newest = _newest(store)
    if not has_gone_back(newest, now):
        return 0

    def cut(record: LinkRecord) -> LinkRecord:
        if record.fetched <= now:
            return record
        return msgspec.structs.replace(record, due=now + max(0, record.due - record.fetched))

    changed = change_due(store, low_water, now, cut)
    store.write(Batch(_cell(now)), store.last_seq + 1)
    log.warning("the clock went back by %.0f s; waits cut links=%d", (newest - now) / 1000, changed)
    return changed


def _newest(reader: Reader) -> int:
    cell = reader.get(Table.META, [_NEWEST])[0]
    return int(cell.value) if cell else 0


def _cell(now: int) -> Cells:
    return {cell_key(Table.META.byte, *_NEWEST): b"%d" % now}

"""Which past of a store a seq belongs to: after a backup was put back, other batches get the seqs of lost ones."""

from __future__ import annotations

import secrets
from typing import Final

from weft.store.api import Batch, Column, Reader, Store
from weft.store.encoding import cell_key
from weft.store.tables import Table

_TIMELINE: Final = Column(b"timeline")


def source_of(reader: Reader) -> str:
    """The store and its timeline: what was made from another one by seqs must be made anew."""
    cell = reader.get(Table.META, [_TIMELINE])[0]
    return reader.id if cell is None else f"{reader.id}+{cell.value.decode()}"


def begin_timeline(store: Store) -> None:
    """When the store may have been put back: whoever noted one of its seqs notes it of another past."""
    key = cell_key(Table.META.byte, *_TIMELINE)
    store.write(Batch({key: secrets.token_hex(8).encode()}), store.last_seq + 1)

"""The note that a store carries while another one is copied into it: it is not whole, and how far the copy is."""

from __future__ import annotations

from typing import Final

import msgspec

from weft.errors import StoreUnfinished
from weft.store.api import Column, CopiedCell, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

NOTE: Final = Column(b"migration")
NOTE_KEY: Final = cell_key(Table.META.byte, *NOTE)


class MigrationNote(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    """Where the other store is, for people."""
    id: str
    """Which one it is."""
    seq: int
    """Its last seq. If that has moved, what is here is neither the old state nor the new one."""
    step: int
    """How often this note was written, which is its own seq."""
    table: str = ""
    """All tables before this one are here; empty: all tables are."""
    position: bytes = b""
    """Where a walk over that table goes on."""
    cells: int = 0

    @property
    def is_copied(self) -> bool:
        return not self.table


def read_note(reader: Reader) -> MigrationNote | None:
    cell = reader.get(Table.META, [NOTE])[0]
    return None if cell is None else msgspec.msgpack.decode(cell.value, type=MigrationNote)


def note_cells(note: MigrationNote) -> dict[bytes, CopiedCell]:
    return {NOTE_KEY: CopiedCell(note.step, msgspec.msgpack.encode(note))}


def refuse_unfinished(reader: Reader, where: object) -> None:
    """Raise StoreUnfinished if this store is a copy that is not whole."""
    note = read_note(reader)
    if note is not None:
        raise StoreUnfinished(str(where), note.source)

"""Copies one store into another, of whatever engine: every cell with its own seq, in steps that survive a kill."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec.structs import replace

from weft import failpoints
from weft.dispatcher.domain_work import DOMAIN, WORK, decode_work, list_key
from weft.dispatcher.link_records import DOMAIN_ROW
from weft.errors import StoreDiffers, StoreError
from weft.linkindex.digest import DIGESTED, CellSum, digested
from weft.linkindex.feed import feed_all_cells
from weft.store.api import Batch, Cell, CopiedCell, CopyStore, Reader
from weft.store.encoding import cell_key
from weft.store.migration_note import NOTE, NOTE_KEY, MigrationNote, note_cells, read_note
from weft.store.tables import Table

_BYTES: Final = 16 << 20
"""Of cells that are held in memory and written at once. The more there are, the more share a partition of a cluster."""
_OF_THE_ENGINE: Final = (b"seq", NOTE.row, b"history")
"""Rows of table META that every store writes for itself."""
_WORK_LISTS: Final = b"w:"
_COMPARED: Final = tuple(table for table in Table if table not in (Table.META, Table.FEED, Table.CHANGES))

Progress = Callable[[str, int], None]


class Copied(NamedTuple):
    cells: int
    digest: str
    last: Batch
    """What makes the copy a whole store: it takes the note away, and has search built anew."""
    seq: int
    """Of that batch: above all that the source has."""


class Digests(NamedTuple):
    links: str
    """As `weft digest` tells it."""
    everything: str
    """With texts, versions and records of links. History is left out: in a cluster it vanishes by itself meanwhile."""


class _Block(NamedTuple):
    cells: Mapping[bytes, CopiedCell]
    note: MigrationNote
    """How far the copy is with these."""


@dataclass(frozen=True, slots=True)
class StoreCopy:
    source: Reader
    """It must hold still."""
    source_name: str
    target: CopyStore
    """Empty, or an unfinished copy of `source`."""
    target_name: str
    lists_work: bool
    """Whether the target keeps the lists of domains with work, which follow from the records of the domains."""
    at_once: int = 50_000
    """Cells between two notes of how far it is."""

    def run(self, progress: Progress) -> Copied:
        """Killed at any moment, it may be run again and goes on. Raises StoreDiffers if the digests do not agree.

        Afterwards the target still carries its note: it is a store of its own when `Copied.last` is written.
        """
        note = self._note()
        for block in self._blocks(note):
            self.target.copy_in({**block.cells, **note_cells(block.note)})
            failpoints.point("migrate.copied")
            note = block.note
            progress("cells", note.cells)
        copied = digests(self.target)
        for wanted, found in zip(digests(self.source), copied, strict=True):
            if wanted != found:
                raise StoreDiffers(self.target_name, wanted, found)
        failpoints.point("migrate.compared")
        return Copied(note.cells, copied.links, *last_batch(note))

    def _note(self) -> MigrationNote:
        note, source = read_note(self.target), self.source
        if note is None:
            if not self.target.is_empty():
                raise self._refused("it is not empty")
            first = next(iter(Table)).label
            note = MigrationNote(source=self.source_name, id=source.id, seq=source.last_seq, step=1, table=first)
            # Before the first cell: whoever finds one knows whose it is.
            self.target.copy_in(note_cells(note))
            return note
        if note.id != source.id:
            raise self._refused(f"it holds an unfinished copy of another index ({note.source})")
        if note.seq != source.last_seq:
            raise self._refused(
                f"it holds an unfinished copy of this index at seq {note.seq}, which is at {source.last_seq} by now"
            )
        return note

    def _blocks(self, note: MigrationNote) -> Iterator[_Block]:
        cells, size = dict[bytes, CopiedCell](), 0
        for table in _tables_from(note):
            start = note.position if table.label == note.table else b""
            for walked in self.source.walk(table, start=start):
                for cell in walked.cells:
                    cells.update(_copies(table, cell, lists_work=self.lists_work))
                    size += len(cell.row) + len(cell.qualifier) + len(cell.value)
                if len(cells) >= self.at_once or size >= _BYTES:
                    note = _moved(note, table.label, walked.position, len(cells))
                    yield _Block(cells, note)
                    cells, size = {}, 0
        if not note.is_copied:
            yield _Block(cells, _moved(note, "", b"", len(cells)))

    def _refused(self, problem: str) -> StoreError:
        return StoreError(self.target_name, f"{problem}; `weft migrate --again` empties it and starts over")


def digests(reader: Reader) -> Digests:
    """Both in one walk."""
    links, everything = CellSum(), CellSum()
    for table in _COMPARED:
        for walked in reader.walk(table):
            everything.add(table, [cell for cell in walked.cells if not _is_work_list(table, cell)])
            if table in DIGESTED:
                links.add(table, digested(table, walked.cells))
    return Digests(links.hexdigest(), everything.hexdigest())


def last_batch(note: MigrationNote) -> tuple[Batch, int]:
    """What makes a copy a store of its own: the note goes, and search is built anew; and its seq.

    That is above the note's own seq, too, for the delete must win.
    """
    seq = max(note.seq, note.step) + 1
    batch = Batch()
    batch.add({**feed_all_cells(seq), NOTE_KEY: None})
    return batch, seq


def _tables_from(note: MigrationNote) -> list[Table]:
    tables = list(Table)
    return [] if note.is_copied else tables[tables.index(Table[note.table.upper()]) :]


def _moved(note: MigrationNote, table: str, position: bytes, cells: int) -> MigrationNote:
    return replace(note, step=note.step + 1, table=table, position=position, cells=note.cells + cells)


def _is_work_list(table: Table, cell: Cell) -> bool:
    return table is Table.LINKS and cell.row.startswith(_WORK_LISTS)


def _copies(table: Table, cell: Cell, *, lists_work: bool) -> Iterator[tuple[bytes, CopiedCell]]:
    """A cell as the target has it, and what follows from it there."""
    row, family, qualifier, seq, value = cell
    if table is Table.META and row in _OF_THE_ENGINE:
        return
    if _is_work_list(table, cell):
        return
    yield cell_key(table.byte, row, family, qualifier), CopiedCell(seq, value)
    if lists_work and table is Table.LINKS and (family, qualifier) == (DOMAIN, WORK) and row.startswith(DOMAIN_ROW):
        listed = decode_work(value).listed
        if listed is not None:
            yield list_key(row[len(DOMAIN_ROW) :], listed), CopiedCell(seq, b"")

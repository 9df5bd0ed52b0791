"""How far an import got: written in the same batch as what was loaded, so that both are true or neither."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from weft.intake.import_source import ImportSource
from weft.intake.source_position import BEGINNING, SourcePosition
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table


class ImportRun(msgspec.Struct, frozen=True):
    """An import of one file that has not come to its end."""

    path: str
    size: int
    mtime_ns: int
    started: int
    """Milliseconds since 1970: the time of pages that have none of their own."""
    position: SourcePosition


_decode = msgspec.json.Decoder(ImportRun).decode


def begin(reader: Reader, source: ImportSource, now: int) -> ImportRun | None:
    """The run that this import resumes, if one over the same file was cut off; else a new one.

    None for standard input, which cannot be read again.
    """
    if source.path is None or source.size is None or source.mtime_ns is None:
        return None
    path = str(source.path.resolve())
    cell = reader.get(Table.META, [_column(path)])[0]
    if cell is not None:
        run = _decode(cell.value)
        if (run.path, run.size, run.mtime_ns) == (path, source.size, source.mtime_ns):
            return run
    return ImportRun(path, source.size, source.mtime_ns, now, BEGINNING)


def note(run: ImportRun | None, reached: SourcePosition) -> dict[bytes, bytes | None]:
    """The cell that says how far `run` is."""
    if run is None:
        return {}
    moved = msgspec.structs.replace(run, position=reached)
    return {cell_key(Table.META.byte, *_column(run.path)): msgspec.json.encode(moved)}


def forget(run: ImportRun | None) -> dict[bytes, bytes | None]:
    """What says that `run` came to its end: importing the same file again is a run of its own."""
    return {cell_key(Table.META.byte, *_column(run.path)): None} if run else {}


def _column(path: str) -> Column:
    return Column(
        b"import", b"run", blake2b(path.encode(errors="surrogateescape"), digest_size=16).hexdigest().encode()
    )

"""Marks the chunks that are loaded, in the batch that loads them: both are written or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.linkindex.cells import Cells
from weft.mgmt.values import ChunkId
from weft.store.api import Batch, Column, Reader, Store
from weft.store.encoding import cell_key
from weft.store.tables import Table

_ROW: Final = b"chunk"
_LOADED: Final = b"loaded"


def is_marked(reader: Reader, chunk: ChunkId) -> bool:
    return reader.get(Table.META, [_column(chunk)])[0] is not None


def mark(chunks: Sequence[ChunkId]) -> Cells:
    return {cell_key(Table.META.byte, *_column(chunk)): b"" for chunk in chunks}


def forget(chunks: Sequence[ChunkId]) -> Cells:
    """Of chunks that will never come again."""
    return dict.fromkeys(cell_key(Table.META.byte, *_column(chunk)) for chunk in chunks)


def forget_all(store: Store) -> None:
    """When the control plane that numbered the chunks is no more."""
    cells = store.scan(Table.META, _ROW, _LOADED)
    gone: Cells = {cell_key(Table.META.byte, _ROW, _LOADED, cell.qualifier): None for cell in cells}
    if gone:
        store.write(Batch(gone), store.last_seq + 1)


def _column(chunk: ChunkId) -> Column:
    return Column(_ROW, _LOADED, chunk.to_bytes(8, "big"))

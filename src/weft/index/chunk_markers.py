"""Marks which links of a chunk are loaded, in the batch that loads them: both are written or neither."""

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
ALL_IN = b""
"""The marker of a chunk whose links are all loaded. Any other marker is a bitmap in the order of the links' doc_ids."""


def read_markers(reader: Reader, chunks: Sequence[ChunkId]) -> list[bytes | None]:
    """The marker of each chunk; None: nothing of it is loaded."""
    return [cell.value if cell else None for cell in reader.get(Table.META, [_column(chunk) for chunk in chunks])]


def mark(chunk: ChunkId, marker: bytes) -> Cells:
    return {cell_key(Table.META.byte, *_column(chunk)): marker}


def forget(chunks: Sequence[ChunkId]) -> Cells:
    """Of chunks that will never come again."""
    return dict.fromkeys(cell_key(Table.META.byte, *_column(chunk)) for chunk in chunks)


def marked(reader: Reader) -> list[ChunkId]:
    """All chunks that have a marker."""
    return [ChunkId(int.from_bytes(cell.qualifier, "big")) for cell in reader.scan(Table.META, _ROW, _LOADED)]


def forget_all(store: Store) -> None:
    """When the control plane that numbered the chunks is no more."""
    if gone := forget(marked(store)):
        store.write(Batch(gone), store.last_seq + 1)


def _column(chunk: ChunkId) -> Column:
    return Column(_ROW, _LOADED, chunk.to_bytes(8, "big"))

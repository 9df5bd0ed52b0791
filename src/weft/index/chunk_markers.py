"""Marks the chunks that are loaded, in the batch that loads them: both are written or neither."""

from __future__ import annotations

from collections.abc import Sequence

from weft.linkindex.cells import Cells
from weft.mgmt.values import ChunkId
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table


def is_marked(reader: Reader, chunk: ChunkId) -> bool:
    return reader.get(Table.META, [_column(chunk)])[0] is not None


def mark(chunks: Sequence[ChunkId]) -> Cells:
    return {cell_key(Table.META.byte, *_column(chunk)): b"" for chunk in chunks}


def forget(chunks: Sequence[ChunkId]) -> Cells:
    """Of chunks that will never come again."""
    return dict.fromkeys(cell_key(Table.META.byte, *_column(chunk)) for chunk in chunks)


def _column(chunk: ChunkId) -> Column:
    return Column(b"chunk", b"loaded", chunk.to_bytes(8, "big"))

"""What rows and columns are called in the cluster, and which of its tables hold them."""

from __future__ import annotations

from typing import Final

from weft.store.api import Column
from weft.store.encoding import after, family_key
from weft.store.tables import Table

PAGE_CUR: Final = (b"page", b"cur")


def stored_in(table: Table, column: Column) -> Table:
    """What a page says is the same cell in `query` as in `fluo`, and stored there alone."""
    is_cur = table is Table.QUERY and column.row[:2] == b"p:" and (column.family, column.qualifier) == PAGE_CUR
    return Table.FLUO if is_cur else table


def column_name(family: bytes, qualifier: bytes) -> bytes:
    return family_key(b"", b"", family)[2:] + qualifier


def split_column(name: bytes) -> tuple[bytes, bytes]:
    end = name.index(b"\x00\x01")
    return name[:end].replace(b"\x00\xff", b"\x00"), name[end + 2 :]


def row_range(table: Table, prefix: bytes, start: bytes | None, *, reverse: bool = False) -> tuple[bytes, bytes]:
    first, end = table.byte + prefix, after(table.byte + prefix)
    if start is None:
        return first, end
    return (first, min(end, table.byte + start + b"\x00")) if reverse else (max(first, table.byte + start), end)


def meets(prefix: bytes, kind: bytes) -> bool:
    """Whether rows that begin with `kind` may begin with `prefix`."""
    return prefix.startswith(kind) or kind.startswith(prefix)

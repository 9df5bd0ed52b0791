"""Which cells follow from the pages, and how they are read back with their encoded keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from weft.linkindex import keys
from weft.store.api import Reader
from weft.store.tables import Table

Pair = tuple[bytes, bytes]
"""A cell's encoded key and its value."""

Progress = Callable[[str, int], None]
"""Told now and then how far a long piece of work is: what is counted, and how many so far."""

PAGES: Final = b"p:"

DERIVED: Final = (
    (Table.DOMAINS, b""),
    *((Table.FLUO, prefix) for prefix in (b"dm:", b"tm:", b"um:")),
    (Table.QUERY, b""),
)
"""Tables and rows that hold nothing but derived cells, in key order."""


def held_cells(reader: Reader) -> Iterator[Pair]:
    """Every derived cell that the store holds, in key order."""
    return chain.from_iterable(reader.encoded_rows(table, prefix) for table, prefix in DERIVED)


def current_pages(reader: Reader) -> Iterator[Pair]:
    """(uri, page:cur) of every page, in the order of uris."""
    for row, family, qualifier, _, value in reader.scan_rows(Table.FLUO, PAGES):
        if qualifier == keys.CUR and family == keys.PAGE:
            yield row[len(PAGES) :], value

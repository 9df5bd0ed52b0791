"""The search feed: which uris' search documents changed, a cell for each base and round, in the round's own batch.

f:<base>  round:<seq>      the uris whose content changed, and those whose references did
f:<base>  all:             the seq at which everything may have changed: build anew
f:<base>  dropped:         the highest seq whose cell was old enough to drop

An index server reads it from its cursors on. What a uri's document is follows from the state alone, so reading a cell
twice is harmless.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from weft.linkindex.cells import Cells
from weft.linkindex.expiry import Oldest
from weft.linkindex.keys import base_of
from weft.model.versions import BASES
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

_ROUND, _ALL, _DROPPED = b"round", b"all", b"dropped"
_BETWEEN: Final = b"\n"
"""No uri holds one."""


@dataclass(slots=True)
class FeedChanges:
    """What a round changed for search, each uri with its domain."""

    content: list[tuple[bytes, bytes]] = field(default_factory=list)
    references: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Uris whose references changed; those in `content` may be left out."""

    def domains(self) -> set[bytes]:
        return {domain for _, domain in (*self.content, *self.references)}

    def __bool__(self) -> bool:
        return bool(self.content or self.references)


class FeedCell(NamedTuple):
    """What one round changed in one base."""

    seq: int
    recorded: int
    """Milliseconds since 1970."""
    content: list[bytes]
    references: list[bytes]


class _Packed(msgspec.Struct, array_like=True, frozen=True):
    recorded: int
    content: bytes
    references: bytes


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Packed).decode


def feed_cells(changes: FeedChanges, seq: int, recorded: int) -> Cells:
    content: defaultdict[int, list[bytes]] = defaultdict(list)
    references: defaultdict[int, list[bytes]] = defaultdict(list)
    for uri, domain in changes.content:
        content[base_of(domain)].append(uri)
    for uri, domain in changes.references:
        references[base_of(domain)].append(uri)
    return {
        _key(base, _ROUND, seq): _encode(
            _Packed(recorded, _BETWEEN.join(content.get(base, ())), _BETWEEN.join(references.get(base, ())))
        )
        for base in content.keys() | references.keys()
    }


def feed_all_cells(seq: int) -> Cells:
    """What tells index servers to build anew, for whoever wrote more than a round names."""
    return {cell_key(Table.FEED.byte, _row(base), _ALL, b""): b"%d" % seq for base in range(BASES)}


def read_feed(reader: Reader, base: int, after: int) -> Iterator[FeedCell]:
    """The cells of a base above a seq, in order."""
    for cell in reader.scan(Table.FEED, _row(base), _ROUND, start=_seq_bytes(after + 1)):
        packed = _decode(cell.value)
        seq = int.from_bytes(cell.qualifier, "big")
        yield FeedCell(seq, packed.recorded, _uris(packed.content), _uris(packed.references))


def must_build_anew(reader: Reader, after: int) -> bool:
    """Whether the feed does not tell all that happened after a seq."""
    cells = reader.get(Table.FEED, [Column(_row(base), family) for base in range(BASES) for family in (_DROPPED, _ALL)])
    return any(cell is not None and int(cell.value) > after for cell in cells)


def oldest_feed_cells(reader: Reader, base: int) -> Iterator[Oldest]:
    """For whoever drops what was kept long enough, the oldest first: dropping one is noted."""
    dropped = reader.get(Table.FEED, [Column(_row(base), _DROPPED)])[0]
    start = _seq_bytes(int(dropped.value) + 1 if dropped else 0)
    for cell in reader.scan(Table.FEED, _row(base), _ROUND, start=start):
        seq = int.from_bytes(cell.qualifier, "big")
        drops: Cells = {
            _key(base, _ROUND, seq): None,
            cell_key(Table.FEED.byte, _row(base), _DROPPED, b""): b"%d" % seq,
        }
        yield Oldest(_decode(cell.value).recorded, drops)


def _uris(joined: bytes) -> list[bytes]:
    return joined.split(_BETWEEN) if joined else []


def _row(base: int) -> bytes:
    return b"f:%02x" % base


def _key(base: int, family: bytes, seq: int) -> bytes:
    return cell_key(Table.FEED.byte, _row(base), family, _seq_bytes(seq))


def _seq_bytes(seq: int) -> bytes:
    return seq.to_bytes(8, "big")

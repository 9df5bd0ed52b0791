"""The history of references: which ones came, went or changed their words, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.linkindex.cells import Cells
from weft.linkindex.updates import LinkChange
from weft.store.api import Reader
from weft.store.encoding import END
from weft.store.tables import Table

NAMES: Final = {1: "new", -1: "lost", 0: "anchor"}
BLOCK, BASELINE = b"block", b"baseline"

_U, _D, _A = (Table.CHANGES.byte + row for row in (b"u:", b"d:", b"a:"))
_BLOCK = END + BLOCK + END
_LATEST: Final = 2**64 - 1
_SHORT: Final = 512
"""Bytes of a piece that is not compressed. Most domains of a round have one event or two: compressing those takes a
third of the time of a round's history, and the engine compresses its files anyhow."""
_COMPRESSED: Final = b"\x28\xb5\x2f\xfd"
"""What zstd's output begins with. A piece that is not compressed is short: its length begins with zero bytes."""

Event: TypeAlias = tuple[bytes, int, int, bytes, int]
"""A LinkChange without its target and domain: (source, step, plain, anchor, at)."""
Told: TypeAlias = tuple[bytes, bytes, bytes]
"""(target, its domain, its own block)"""


class ReferenceChange(NamedTuple):
    """One event: at `at` (milliseconds since 1970) `source` began, ceased or reworded its reference to `target`."""

    at: int
    step: int
    source: bytes
    target: bytes
    anchor: bytes


def newest_first(number: int) -> bytes:
    """A time or seq as bytes of which the larger sorts first."""
    return (_LATEST - number).to_bytes(8, "big")


def history_cells(changes: Sequence[LinkChange], seq: int, recorded: int, part: bytes = b"") -> Cells:
    """A block of events for each target, each domain and for all: a cell for every event would be a fifth of all cells.

    `changes` must be sorted by target. `recorded` is the time now: history is kept from then on, however old the pages
    are. `part` tells blocks of one seq apart, where a round is exported in parts.
    """
    if not changes:
        return {}
    name = _BLOCK + newest_first(seq) + part
    cells: Cells = {}
    by_domain: defaultdict[bytes, list[Told]] = defaultdict(list)
    newest: dict[bytes, int] = {}
    for target, group in groupby(changes, key=itemgetter(0)):
        those = list(group)
        domain = those[0][1]
        block = _pack((recorded, [change[2:] for change in those]))
        cells[b"".join((_U, target, name))] = block
        by_domain[domain].append((target, domain, block))
        latest = those[0][6] if len(those) == 1 else max([change[6] for change in those])
        newest[domain] = max(latest, newest.get(domain, latest))
    compress = ZstdCompressor(level=1).compress
    pieces: list[bytes] = []
    for domain, told in by_domain.items():
        piece = _encode(told)
        pieces.append(piece)
        squeezed = compress(piece) if len(piece) > _SHORT else piece
        cells[b"".join((_D, domain, name))] = b"%d %d %b" % (newest[domain], recorded, squeezed)
    # The block of all is those of the domains, one behind the other.
    cells[_A + name] = b"%d %d %b" % (max(newest.values()), recorded, compress(b"".join(pieces)))
    return cells


def baseline_cells(seq: int, recorded: int, references: int) -> Cells:
    """What says that history begins with a bulk build, which brought this many references."""
    return {b"".join((_A, END, BASELINE, END, newest_first(seq))): b"%d %d" % (recorded, references)}


class HistoryBaseline(NamedTuple):
    """When history began, and how many references were known by then."""

    at: int
    references: int


def baseline(reader: Reader) -> HistoryBaseline | None:
    """Where history begins, if it does so with a bulk build."""
    cell = next(reader.scan(Table.CHANGES, b"a:", BASELINE, limit=1), None)
    return HistoryBaseline(*map(int, cell.value.split())) if cell else None


_LONGEST_BLOCK: Final = 1 << 30
_pack: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(tuple[int, list[Event]]).decode
_told: Final = msgspec.msgpack.Decoder(list[Told]).decode


def _encode(told: Sequence[Told]) -> bytes:
    """A domain's piece behind its length, so that several can stand in a row."""
    packed = _pack(told)
    return len(packed).to_bytes(4, "big") + packed


class HistoryBlock(NamedTuple):
    """What one batch changed, for a target, a domain or all."""

    recorded: int
    """When; no block further down was recorded later."""
    changes: list[ReferenceChange]
    """The newest first."""


def read_block(block: bytes, since: int | None = None) -> HistoryBlock:
    """The block of a domain or that of all; without its changes if none of them is as young as `since`."""
    newest, recorded, _ = block.split(b" ", 2)
    if since is not None and int(newest) < since:
        return HistoryBlock(int(recorded), [])
    return HistoryBlock(
        int(recorded), _in_order([change for target, _, own in _unpack(block) for change in _changes(target, own)[1]])
    )


def read_target_block(target: bytes, block: bytes) -> HistoryBlock:
    recorded, changes = _changes(target, block)
    return HistoryBlock(recorded, _in_order(changes))


def _in_order(changes: list[ReferenceChange]) -> list[ReferenceChange]:
    return sorted(changes, key=lambda change: (-change.at, change.source, change.target))


def _changes(target: bytes, block: bytes) -> tuple[int, list[ReferenceChange]]:
    recorded, events = _decode(block)
    return recorded, [ReferenceChange(at, step, source, target, anchor) for source, step, _, anchor, at in events]


def _unpack(block: bytes) -> list[Told]:
    """A block is: time of its newest event, time of recording, and pieces, compressed together if long."""
    pieces = block.split(b" ", 2)[2]
    if pieces.startswith(_COMPRESSED):
        pieces = ZstdDecompressor().decompress(pieces, max_output_size=_LONGEST_BLOCK)
    told: list[Told] = []
    at = 0
    while at < len(pieces):
        end = at + 4 + int.from_bytes(pieces[at : at + 4], "big")
        told += _told(pieces[at + 4 : end])
        at = end
    return told


def expired_cells(reader: Reader, before: int) -> Cells:
    """What drops the oldest block of history, with all that was recorded with it, if that was before `before`.

    One block a call: a round that drops what one round recorded costs no more than twice a round.
    """
    oldest = next(reader.scan(Table.CHANGES, b"a:", BLOCK, limit=1, reverse=True), None)
    if oldest is None or int(oldest.value.split(b" ", 2)[1]) >= before:
        return {}
    name = _BLOCK + oldest.qualifier
    told = _unpack(oldest.value)
    rows = {_A, *(_U + target for target, _, _ in told), *(_D + domain for _, domain, _ in told)}
    return dict.fromkeys(row + name for row in rows)

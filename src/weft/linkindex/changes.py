"""The history of references: which ones came, went or changed their words, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.linkindex.cells import Cells
from weft.linkindex.updates import LinkChange
from weft.store.api import Reader
from weft.store.encoding import END
from weft.store.tables import Table

NAMES: Final = {1: "new", -1: "lost", 0: "anchor"}
LINK, BLOCK, BASELINE = b"link", b"block", b"baseline"

_U, _D, _A = (Table.CHANGES.byte + row for row in (b"u:", b"d:", b"a:"))
_LINK, _BLOCK = END + LINK + END, END + BLOCK + END
_STEPS: Final = {1: b"1 ", -1: b"-1 ", 0: b"0 "}
_LATEST: Final = 2**64 - 1
_SHORT: Final = 300
"""Bytes of a piece that is not compressed. Most domains of a round have one event or two: compressing those takes a
third of the time of a round's history, and the engine compresses its files anyhow."""
_COMPRESSED: Final = b"\x28\xb5\x2f\xfd"
"""What zstd's output begins with. A piece that is not compressed is short: its length begins with zero bytes."""


class Change(NamedTuple):
    """One event: at `at` (milliseconds since 1970) `source` began, ceased or reworded its reference to `target`."""

    at: int
    step: int
    source: bytes
    target: bytes
    anchor: bytes


def newest_first(number: int) -> bytes:
    """A time or seq as bytes of which the larger sorts first."""
    return (_LATEST - number).to_bytes(8, "big")


def split_newest_first(data: bytes) -> tuple[int, bytes]:
    return _LATEST - int.from_bytes(data[:8], "big"), data[8:]


def history_cells(changes: Sequence[LinkChange], seq: int, recorded: int, part: bytes = b"") -> Cells:
    """A cell per event in its target's row, and one block of events for each domain and for all.

    `recorded` is the time now: history is kept from then on, however old the pages are. `part` tells blocks of one seq
    apart, where a round is exported in parts.
    """
    if not changes:
        return {}
    moments = {at: _LINK + newest_first(at) for at in {change[6] for change in changes}}
    cells: Cells = {
        b"".join((_U, target, moments[at], source)): _STEPS[step] + anchor
        for target, _, source, step, _, anchor, at in changes
    }
    by_domain: defaultdict[bytes, list[LinkChange]] = defaultdict(list)
    for change in changes:
        by_domain[change[1]].append(change)
    number = newest_first(seq) + part
    compress = ZstdCompressor(level=1).compress
    pieces: list[bytes] = []
    for domain, events in by_domain.items():
        newest = max([event[6] for event in events]) if len(events) > 1 else events[0][6]
        piece = _encode(events)
        pieces.append(piece)
        packed = compress(piece) if len(piece) > _SHORT else piece
        cells[b"".join((_D, domain, _BLOCK, number))] = b"%d %d %b" % (newest, recorded, packed)
    # The block of all is those of the domains, one behind the other.
    everything = b"%d %d %b" % (max(moments), recorded, compress(b"".join(pieces)))
    cells[b"".join((_A, _BLOCK, number))] = everything
    return cells


def baseline_cells(seq: int, recorded: int, references: int) -> Cells:
    """What says that history begins with a bulk build, which brought this many references."""
    return {b"".join((_A, END, BASELINE, END, newest_first(seq))): b"%d %d" % (recorded, references)}


class Baseline(NamedTuple):
    """When history began, and how many references were known by then."""

    at: int
    references: int


def baseline(reader: Reader) -> Baseline | None:
    """Where history begins, if it does so with a bulk build."""
    cell = next(reader.scan(Table.CHANGES, b"a:", BASELINE, limit=1), None)
    return Baseline(*map(int, cell.value.split())) if cell else None


_LONGEST_BLOCK: Final = 1 << 30
_pack: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[LinkChange]).decode


def _encode(changes: Sequence[LinkChange]) -> bytes:
    """Events behind the length of their encoding, so that several such pieces can stand in a row."""
    packed = _pack(changes)
    return len(packed).to_bytes(4, "big") + packed


def block_time(block: bytes) -> int:
    """When the newest event of a block happened."""
    return int(block.split(b" ", 1)[0])


def read_block(block: bytes) -> list[Change]:
    """The events of a block, the newest first."""
    events = [Change(at, step, source, target, anchor) for target, _, source, step, _, anchor, at in _unpack(block)]
    return sorted(events, key=lambda event: (-event.at, event.source, event.target))


def _unpack(block: bytes) -> list[LinkChange]:
    """A block is: time of its newest event, time of recording, and pieces of events, compressed together if long."""
    pieces = block.split(b" ", 2)[2]
    if pieces.startswith(_COMPRESSED):
        pieces = ZstdDecompressor().decompress(pieces, max_output_size=_LONGEST_BLOCK)
    changes: list[LinkChange] = []
    at = 0
    while at < len(pieces):
        end = at + 4 + int.from_bytes(pieces[at : at + 4], "big")
        changes += _decode(pieces[at + 4 : end])
        at = end
    return changes


def expired_cells(reader: Reader, before: int) -> Cells:
    """What drops the oldest block of history, with all that was recorded with it, if that was before `before`.

    One block a call: a round that drops what one round recorded costs no more than twice a round.
    """
    oldest = next(reader.scan(Table.CHANGES, b"a:", BLOCK, limit=1, reverse=True), None)
    if oldest is None or int(oldest.value.split(b" ", 2)[1]) >= before:
        return {}
    changes = _unpack(oldest.value)
    cells: Cells = dict.fromkeys(b"".join((_D, domain, _BLOCK, oldest.qualifier)) for domain in {c[1] for c in changes})
    cells[b"".join((_A, _BLOCK, oldest.qualifier))] = None
    for target, _, source, _, _, _, at in changes:
        cells[b"".join((_U, target, _LINK, newest_first(at), source))] = None
    return cells


def read_link(target: bytes, qualifier: bytes, value: bytes) -> Change:
    """An event from its target's row."""
    at, source = split_newest_first(qualifier)
    step, _, anchor = value.partition(b" ")
    return Change(at, int(step), source, target, anchor)

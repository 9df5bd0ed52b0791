"""The history: which references and pages came, went or changed, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, TypeAlias

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.linkindex.cells import Cells
from weft.linkindex.expiry import Oldest
from weft.linkindex.keys import base_row
from weft.linkindex.updates import PAGE_GONE, PAGE_MOVED, PAGE_NEW, PAGE_TEXT, PAGE_TITLE, LinkChange, PageChange
from weft.store.api import Cell, Reader
from weft.store.encoding import END
from weft.store.tables import Table

LINK_CHANGES: Final = {1: "new", -1: "lost", 0: "anchor"}
PAGE_CHANGES: Final = {
    PAGE_NEW: "page_new",
    PAGE_GONE: "page_gone",
    PAGE_MOVED: "page_moved",
    PAGE_TITLE: "page_title",
    PAGE_TEXT: "page_text",
}
LINK_BLOCK, PAGE_BLOCK, MIXED_BLOCK = b"links", b"pages", b"block"
"""Changes of links and of pages have cells of their own: there are a hundred of the first for one of the others, and
who asks for one kind reads nothing else. Blocks that hold both were written before and are read until they expire."""
BLOCKS: Final = (LINK_BLOCK, PAGE_BLOCK, MIXED_BLOCK)
BASELINE: Final = b"baseline"
ALL_ROWS: Final = b"a:"
"""What the rows of all changes begin with; a row for each base follows."""

_U, _D, _A = (Table.CHANGES.byte + row for row in (b"u:", b"d:", ALL_ROWS))
_BASELINE_ROW: Final = ALL_ROWS + b"00"
_LATEST: Final = 2**64 - 1
_SHORT: Final = 512
"""Bytes of a piece that is not compressed. Most domains of a round have one event or two: compressing those takes a
third of the time of a round's history, and the engine compresses its files anyhow."""
_COMPRESSED: Final = b"\x28\xb5\x2f\xfd"
"""What zstd's output begins with. A piece that is not compressed is short: its length begins with zero bytes."""

Event: TypeAlias = tuple[bytes, int, int, bytes, int]
"""A LinkChange or PageChange without its target and domain: (source, step, plain, anchor, at)."""
Told: TypeAlias = tuple[bytes, bytes, bytes]
"""(target, its domain, its own block)"""


class RecordedChange(NamedTuple):
    """One event: at `at` (milliseconds since 1970) `source` began, ceased or reworded its reference to `target`; or the
    page `target` itself came, went or changed, and `anchor` says what to."""

    at: int
    step: int
    source: bytes
    target: bytes
    anchor: bytes


_AT: Final = attrgetter("at")
_SOURCE_TARGET_STEP: Final = attrgetter("source", "target", "step")


def newest_first(number: int) -> bytes:
    """A time or seq as bytes of which the larger sorts first."""
    return (_LATEST - number).to_bytes(8, "big")


def seq_of(block: bytes) -> int:
    """The seq of the batch that wrote the block of this name."""
    return _LATEST - int.from_bytes(block[:8], "big")


class HistoryCells(NamedTuple):
    """What one batch adds to the history."""

    cells: Cells
    size: int
    """Bytes, keys included, before compression: whoever drops them finds the same number."""


def history_cells(
    links: Sequence[LinkChange], pages: Sequence[PageChange], seq: int, recorded: int, part: bytes = b""
) -> HistoryCells:
    """Blocks of events for each target, domain and base: a cell for every event would be a fifth of all cells.

    Both must be sorted by target. `recorded` is the time now: history is kept from then on, however old the pages are.
    `part` tells blocks of one seq apart, where a round is exported in parts.
    """
    cells: Cells = {}
    size = 0
    for family, changes in ((LINK_BLOCK, links), (PAGE_BLOCK, pages)):
        if changes:
            size += _add_blocks(cells, changes, b"".join((END, family, END, newest_first(seq), part)), recorded)
    return HistoryCells(cells, size)


def _add_blocks(cells: Cells, changes: Sequence[LinkChange | PageChange], name: bytes, recorded: int) -> int:
    """Their size."""
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
    pieces: defaultdict[bytes, list[bytes]] = defaultdict(list)
    newest_of: dict[bytes, int] = {}
    for domain, told in by_domain.items():
        piece, latest = _encode(told), newest[domain]
        squeezed = compress(piece) if len(piece) > _SHORT else piece
        cells[b"".join((_D, domain, name))] = b"%d %d %b" % (latest, recorded, squeezed)
        row = base_row(_A, domain)
        pieces[row].append(piece)
        newest_of[row] = max(latest, newest_of.get(row, latest))
    # The block of a base is those of its domains, one behind the other.
    for row, found in pieces.items():
        joined = b"".join(found)
        squeezed = compress(joined) if len(joined) > _SHORT else joined
        cells[row + name] = b"%d %d %b" % (newest_of[row], recorded, squeezed)
    return sum(_size_of(row, name, by_row, sum(map(len, pieces[row]))) for row, by_row in _by_row(by_domain).items())


def _by_row(by_domain: Mapping[bytes, list[Told]]) -> dict[bytes, list[Told]]:
    found: defaultdict[bytes, list[Told]] = defaultdict(list)
    for domain, told in by_domain.items():
        found[base_row(_A, domain)] += told
    return found


def _size_of(row: bytes, name: bytes, told: Sequence[Told], pieces: int) -> int:
    """Of all cells of a base, batch and kind: its own with the pieces of its domains, theirs, and those of targets."""
    domains = {domain for _, domain, _ in told}
    keys = len(row) + sum(len(_D) + len(domain) for domain in domains) + sum(len(_U) + len(one[0]) for one in told)
    return keys + len(name) * (1 + len(domains) + len(told)) + 2 * pieces + sum(len(block) for _, _, block in told)


def history_bytes(reader: Reader, base: int) -> int:
    """Size of all that is kept of a base. Reads all of it."""
    row = b"%b%02x" % (ALL_ROWS, base)
    return sum(_block_size(cell) for family in BLOCKS for cell in reader.scan(Table.CHANGES, row, family))


def _block_size(cell: Cell) -> int:
    pieces = _unpacked(cell.value)
    return _size_of(Table.CHANGES.byte + cell.row, _name_of(cell), _told_in(pieces), len(pieces))


def _name_of(cell: Cell) -> bytes:
    """The end of the keys of a batch's blocks of one kind."""
    return b"".join((END, cell.family, END, cell.qualifier))


def baseline_cells(seq: int, recorded: int, references: int, pages: int) -> Cells:
    """What says that history begins with a bulk build, which brought so many references and pages."""
    key = b"".join((Table.CHANGES.byte, _BASELINE_ROW, END, BASELINE, END, newest_first(seq)))
    return {key: b"%d %d %d" % (recorded, references, pages)}


class HistoryBaseline(NamedTuple):
    """When history began, and how many references and pages were known by then."""

    at: int
    references: int
    pages: int


def baseline(reader: Reader) -> HistoryBaseline | None:
    """Where history begins, if it does so with a bulk build."""
    cell = next(reader.scan(Table.CHANGES, _BASELINE_ROW, BASELINE, limit=1), None)
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
    """What one batch changed, for a target, a domain, a base or all."""

    recorded: int
    """When; no block further down was recorded later."""
    changes: list[RecordedChange]
    """The newest first."""


def read_block(block: bytes, since: int | None = None) -> HistoryBlock:
    """The block of a domain or of a base; without its changes if none of them is as young as `since`."""
    newest, recorded, _ = block.split(b" ", 2)
    if since is not None and int(newest) < since:
        return HistoryBlock(int(recorded), [])
    return HistoryBlock(
        int(recorded), _in_order([change for target, _, own in _unpack(block) for change in _changes(target, own)[1]])
    )


def join_blocks(blocks: Iterable[HistoryBlock]) -> HistoryBlock:
    """The blocks that one batch wrote for several bases, as one."""
    found = list(blocks)
    if len(found) == 1:
        return found[0]
    changes = [change for block in found for change in block.changes]
    return HistoryBlock(found[0].recorded, _in_order(changes))


def read_target_block(target: bytes, block: bytes) -> HistoryBlock:
    recorded, changes = _changes(target, block)
    return HistoryBlock(recorded, _in_order(changes))


def _in_order(changes: list[RecordedChange]) -> list[RecordedChange]:
    # In two passes, which keep the order of equals: a round may have a hundred thousand, and this makes no tuples.
    changes.sort(key=_SOURCE_TARGET_STEP)
    changes.sort(key=_AT, reverse=True)
    return changes


def _changes(target: bytes, block: bytes) -> tuple[int, list[RecordedChange]]:
    recorded, events = _decode(block)
    return recorded, [RecordedChange(at, step, source, target, anchor) for source, step, _, anchor, at in events]


def _unpack(block: bytes) -> list[Told]:
    """A block is: time of its newest event, time of recording, and pieces, compressed together if long."""
    return _told_in(_unpacked(block))


def _unpacked(block: bytes) -> bytes:
    pieces = block.split(b" ", 2)[2]
    if pieces.startswith(_COMPRESSED):
        return ZstdDecompressor().decompress(pieces, max_output_size=_LONGEST_BLOCK)
    return pieces


def _told_in(pieces: bytes) -> list[Told]:
    told: list[Told] = []
    at = 0
    while at < len(pieces):
        end = at + 4 + int.from_bytes(pieces[at : at + 4], "big")
        told += _told(pieces[at + 4 : end])
        at = end
    return told


def oldest_blocks(reader: Reader, base: int) -> Iterator[Oldest]:
    """What each batch recorded in a base, the oldest first: its blocks, and all that was recorded with them."""
    row = b"%b%02x" % (ALL_ROWS, base)
    scans = [reader.scan(Table.CHANGES, row, family, reverse=True) for family in BLOCKS]
    batch_of = attrgetter("qualifier")
    for _, blocks in groupby(merge(*scans, key=batch_of, reverse=True), key=batch_of):
        recorded, size, drops = 0, 0, dict[bytes, bytes | None]()
        for cell in blocks:
            name, told = _name_of(cell), _unpack(cell.value)
            rows = {Table.CHANGES.byte + row, *(_U + target for target, _, _ in told), *(_D + of for _, of, _ in told)}
            drops.update(dict.fromkeys(each + name for each in rows))
            recorded, size = int(cell.value.split(b" ", 2)[1]), size + _block_size(cell)
        yield Oldest(recorded, drops, size)

"""The export queue: what rounds changed, in order of seq, for followers that each read at their own pace.

Where batches are atomic across rows nothing needs it: the query table is written with the round. Elsewhere a round's
updates are queued with it (`eq:<base>`), and exporters carry them on, at least once; what they write is idempotent by
seq. The queue is bounded: a follower that fell behind what was dropped is told so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.errors import WeftError
from weft.linkindex.cells import Cells
from weft.linkindex.keys import BASES, base_of
from weft.linkindex.updates import Updates
from weft.store.api import Batch, Column, Reader, Store
from weft.store.encoding import cell_key
from weft.store.tables import Table

UPDATES, CURSOR, DROPPED = b"updates", b"cursor", b"dropped"

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Updates).decode
_LONGEST_ENTRY: Final = 1 << 30

Sink = Callable[[int, int, Updates], Cells]
"""(seq, base, updates) -> cells to write under that seq: what an exporter does with an entry."""


class ExportGap(WeftError):  # noqa: N818 - a state of the follower, not a fault
    """A follower's next entry was dropped: it must start over from the tables."""

    def __init__(self, name: str, base: int, cursor: int, dropped: int) -> None:
        super().__init__(
            f"exporter {name}: base {base:02x} was dropped up to seq {dropped}, it had read up to {cursor}"
        )
        self.base, self.cursor, self.dropped = base, cursor, dropped


class Entry(NamedTuple):
    seq: int
    at: int
    """When it was queued, in milliseconds since 1970."""
    size: int
    updates: Updates


def queue_cells(updates: Updates, seq: int, now: int) -> Cells:
    """The queue's entries for one round: one for each base that it touched."""
    parts = _by_base(updates)
    compress = ZstdCompressor(level=1).compress
    return {
        cell_key(Table.FLUO.byte, _row(base), UPDATES, seq.to_bytes(8, "big")): b"%d " % now + compress(_encode(part))
        for base, part in parts.items()
    }


def read_entries(reader: Reader, base: int, after: int) -> Iterator[Entry]:
    """The entries of a base after a seq, in order."""
    start = (after + 1).to_bytes(8, "big")
    for cell in reader.scan(Table.FLUO, _row(base), UPDATES, start=start):
        at, _, packed = cell.value.partition(b" ")
        updates = _decode(ZstdDecompressor().decompress(packed, max_output_size=_LONGEST_ENTRY))
        yield Entry(int.from_bytes(cell.qualifier, "big"), int(at), len(cell.value), updates)


def dropped_cells(reader: Reader, base: int, *, before: int, most_bytes: int) -> Cells:
    """What drops entries queued before `before` (milliseconds), and the oldest beyond `most_bytes`."""
    entries = [(cell.qualifier, cell.value) for cell in reader.scan(Table.FLUO, _row(base), UPDATES)]
    excess = sum(len(value) for _, value in entries) - most_bytes
    cells: Cells = {}
    for qualifier, value in entries:
        if excess <= 0 and int(value.partition(b" ")[0]) >= before:
            break
        excess -= len(value)
        cells[cell_key(Table.FLUO.byte, _row(base), UPDATES, qualifier)] = None
        cells[cell_key(Table.META.byte, *_dropped(base))] = b"%d" % int.from_bytes(qualifier, "big")
    return cells


class Exporter:
    """One follower of the queue, with a cursor for each base: never one over all, for a lower seq can come later."""

    def __init__(self, name: str, store: Store, sink: Sink) -> None:
        self._name, self._store, self._sink = name, store, sink

    def export(self, bases: range = range(BASES), most: int | None = None) -> int:
        """Carry on what is queued, at most `most` entries of each base; return how many."""
        return sum(self._export_base(base, most) for base in bases)

    def _export_base(self, base: int, most: int | None) -> int:
        cursor = self._number(self._cursor(base))
        dropped = self._number(_dropped(base))
        if cursor < dropped:
            raise ExportGap(self._name, base, cursor, dropped)
        done = 0
        for entry in read_entries(self._store, base, cursor):
            if done == most:
                break
            batch = Batch()
            batch.add(self._sink(entry.seq, base, entry.updates))
            batch.add({cell_key(Table.META.byte, *self._cursor(base)): b"%d" % entry.seq})
            self._store.write(batch, entry.seq)
            done += 1
        return done

    def _cursor(self, base: int) -> Column:
        return Column(b"exporter:" + self._name.encode(), CURSOR, b"%02x" % base)

    def _number(self, column: Column) -> int:
        cell = self._store.get(Table.META, [column])[0]
        return int(cell.value) if cell else 0


def _row(base: int) -> bytes:
    return b"eq:%02x" % base


def _dropped(base: int) -> Column:
    return Column(b"eq", DROPPED, b"%02x" % base)


def _by_base(updates: Updates) -> dict[int, Updates]:
    parts: defaultdict[int, Updates] = defaultdict(Updates)
    for page in updates.pages:
        parts[base_of(page[1])].pages.append(page)
    for link in updates.links:
        parts[base_of(link[1])].links.append(link)
    for uri in updates.uris:
        parts[base_of(uri[1])].uris.append(uri)
    for domain in updates.domains:
        parts[base_of(domain[0])].domains.append(domain)
    return dict(parts)

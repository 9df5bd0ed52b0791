"""RocksStore against MemoryStore: any sequence of batches, reopenings and flushes reads the same."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from weft.config.sections import StoreSettings
from weft.store.api import Batch, Column
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksReader, RocksStore
from weft.store.tables import Table

TINY = StoreSettings(write_buffer_bytes=64 << 10, wal_bytes=256 << 10, cache_bytes=1 << 20)

part = st.sampled_from([b"", b"\x00", b"\x00\xff", b"a", b"a\x00", b"a\x01", b"b", b"\xff"]) | st.binary(max_size=4)
table = st.sampled_from([Table.QUERY, Table.FLUO])
operations = st.lists(st.tuples(table, part, part, part, st.none() | st.binary(max_size=5)), max_size=12)
row_range = st.none() | st.tuples(table, part, st.none() | part)


class SameAsMemory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.memory = MemoryStore()
        self.rocks = RocksStore(self.directory / "store", TINY)
        self.reader = RocksReader(self.directory / "store", TINY)

    @rule(operations=operations, rows=row_range, skipped=st.integers(1, 300))
    def write(self, operations: list[tuple[Table, bytes, bytes, bytes, bytes | None]], rows, skipped: int) -> None:
        batch = Batch()
        if rows:
            batch.delete_rows(*rows)
        for where, row, family, qualifier, value in operations:
            if value is None:
                batch.delete(where, row, family, qualifier)
            else:
                batch.put(where, row, family, qualifier, value)
        seq = self.rocks.last_seq + skipped
        self.memory.write(batch, seq)
        self.rocks.write(batch, seq)

    @rule()
    def flush(self) -> None:
        self.rocks.flush()

    @rule()
    def reopen(self) -> None:
        self.rocks.close()
        self.rocks = RocksStore(self.directory / "store", TINY)

    @rule(where=table, row=part, family=part, prefix=part, start=st.none() | part, reverse=st.booleans())
    def scan(self, where: Table, row: bytes, family: bytes, prefix: bytes, start: bytes | None, reverse: bool) -> None:
        scans = [
            list(store.scan(where, row, family, prefix=prefix, start=start, reverse=reverse))
            for store in (self.memory, self.rocks)
        ]
        assert scans[0] == scans[1]

    @rule(where=table, columns=st.lists(st.tuples(part, part, part), max_size=5))
    def get(self, where: Table, columns: list[tuple[bytes, bytes, bytes]]) -> None:
        asked = [Column(*column) for column in columns]
        assert self.memory.get(where, asked) == self.rocks.get(where, asked)

    @rule(where=table, prefix=part, start=st.none() | part)
    def rows(self, where: Table, prefix: bytes, start: bytes | None) -> None:
        assert list(self.memory.rows(where, prefix, start=start)) == list(self.rocks.rows(where, prefix, start=start))

    @invariant()
    def all_cells_are_the_same_for_the_writer_and_for_a_reader(self) -> None:
        self.reader.refresh()
        for where in (Table.QUERY, Table.FLUO):
            expected = list(self.memory.scan_rows(where))
            assert list(self.rocks.scan_rows(where)) == expected
            assert list(self.reader.scan_rows(where)) == expected
        assert self.rocks.last_seq == self.reader.last_seq == self.memory.last_seq

    def teardown(self) -> None:
        self.reader.close()
        self.rocks.close()
        shutil.rmtree(self.directory)


TestSameAsMemory = SameAsMemory.TestCase
TestSameAsMemory.settings = settings(max_examples=40, stateful_step_count=25)

"""A writer process to kill, and the batches by which its store is judged afterwards.

Batch n overwrites the same cells in many rows and two tables with n, and adds a few cells of its own, so that half a
batch, a lost batch and a repeated batch all show.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.store.api import Batch, Reader
from weft.store.tables import Table

SHARED_ROWS = [b"row%02d" % n for n in range(20)]


def batch_number(seq: int) -> Batch:
    batch = Batch()
    for table in (Table.QUERY, Table.FLUO):
        for row in SHARED_ROWS:
            batch.put(table, row, b"f", b"q", b"%d" % seq)
    for n in range(5):
        batch.put(Table.DOCS, b"log", b"f", b"%09d:%d" % (seq, n), b"x" * 200)
    return batch


def assert_whole(reader: Reader) -> int:
    """Check that exactly the batches 1 to last_seq are in, each whole; return last_seq."""
    seq = reader.last_seq
    values = {cell.value for table in (Table.QUERY, Table.FLUO) for cell in reader.scan_rows(table)}
    assert values == ({b"%d" % seq} if seq else set())
    log = (cell.qualifier for cell in reader.scan(Table.DOCS, b"log"))
    for number in range(1, seq + 1):
        assert [next(log, None) for _ in range(5)] == [b"%09d:%d" % (number, n) for n in range(5)]
    assert next(log, None) is None
    return seq


@contextmanager
def writer(store: Path, *, fail: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that writes batch after batch and prints the number of each once it is acknowledged."""
    environment = {**os.environ, "WEFT_FAIL": fail}
    command = [sys.executable, __file__, str(store)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def acknowledged(process: subprocess.Popen[str]) -> int:
    """The last number that a dead writer printed."""
    assert process.stdout is not None
    lines = [line for line in process.stdout.read().split("\n")[:-1] if line]
    return int(lines[-1]) if lines else 0


def main() -> None:
    from weft import failpoints
    from weft.config.sections import StoreSettings
    from weft.store.rocksdb import RocksStore

    failpoints.arm(os.environ.get("WEFT_FAIL", ""))
    # Small buffers, so that flushes and compactions are killed too.
    store = RocksStore(Path(sys.argv[1]), StoreSettings(write_buffer_bytes=64 << 10, wal_bytes=256 << 10))
    while True:
        seq = store.last_seq + 1
        store.write(batch_number(seq), seq)
        print(seq, flush=True)


if __name__ == "__main__":
    main()

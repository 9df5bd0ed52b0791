"""The embedded engine: RocksDB, one writer process and any number of readers beside it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rocksdict import AccessType, Checkpoint, Options, Rdict, WriteBatch, WriteOptions

from weft import failpoints
from weft.config.sections import StoreSettings
from weft.errors import BatchRefused, StoreError, StoreUnwritable, WeftError
from weft.store import directory
from weft.store.api import Batch, Capability, CopiedCell, range_keys
from weft.store.rocks_ingest import SortedFiles, moving_in, with_last_seq
from weft.store.rocks_options import engine_options, let_merging_wait, open_database, translated
from weft.store.rocks_view import LAST_SEQ, RocksView
from weft.store.values import LONG, Stamp

MAX_BATCH = 1 << 30
"""Bytes. RocksDB stops at 4 GiB and holds a batch in memory several times over."""

_TRIES = 100


class RocksStore(RocksView):
    """The writer. Seqs must rise, so it never reads before it writes; draw the next one as `last_seq + 1`."""

    capabilities = Capability.ATOMIC | Capability.DELETE_ROWS

    def __init__(self, path: Path, tuning: StoreSettings | None = None) -> None:
        self._tuning = tuning or StoreSettings()
        self._lock = directory.WriterLock(path)
        try:
            if directory.is_vacant(path):
                directory.appear(path, self._create)
            directory.check(path)
            super().__init__(path, self._open(path))
            let_merging_wait()
            directory.give_id(path)
            self._seq = super().last_seq
        except BaseException:
            self._lock.release()
            raise
        self._at_once = WriteOptions()
        self._at_once.sync = True
        self._at_once.no_slowdown = True
        self._failure: StoreError | None = None

    def _open(self, path: Path, *, create: bool = False) -> Rdict:
        try:
            return open_database(path, engine_options(self._tuning, create=create))
        except Exception as error:
            raise translated(path, error) from error

    def _create(self, path: Path) -> None:
        self._open(path, create=True).close()
        _forget_binding_notes(path)

    @property
    def last_seq(self) -> int:
        return self._seq

    def write(self, batch: Batch, seq: int) -> None:
        self._refuse_seq(seq)
        self._write_prepared(lambda: self._prepare(batch, seq))
        self._seq = seq

    def _write_prepared(self, prepare: Callable[[], WriteBatch]) -> None:
        try:
            failpoints.point("store.write.before")
            while not self._commit(prepare()):
                self._wait_for_compaction()
            failpoints.point("store.write.after")
        except BatchRefused:
            raise
        except Exception as error:
            self._failure = translated(self._path, error)
            raise self._failure from error

    def is_empty(self) -> bool:
        return next(self._forward(b"", None), None) is None

    def copy_in(self, cells: Mapping[bytes, CopiedCell]) -> None:
        self._refuse_after_failure()
        self._write_prepared(lambda: self._prepare_copies(cells))

    def _commit(self, prepared: WriteBatch) -> bool:
        """False when RocksDB would make us wait: it would hold every thread of this process meanwhile, and on a full
        disk it would wait for ever."""
        try:
            self._database.write(prepared, self._at_once)
        except Exception as error:
            if "Write stall" in str(error):
                return False
            raise
        return True

    def _wait_for_compaction(self) -> None:
        figure = self._database.property_int_value
        while figure("rocksdb.is-write-stopped") or figure("rocksdb.actual-delayed-write-rate"):
            if figure("rocksdb.background-errors"):
                raise OSError(f"No space left for RocksDB's background work, or it failed: see {self._path / 'LOG'}")
            time.sleep(0.005)

    def ingest(self, cells: Iterable[tuple[bytes, bytes | None]], seq: int, directory: Path) -> None:
        with self._building(seq, directory) as files:
            files.part().write(with_last_seq(cells))

    @contextmanager
    def building(self, seq: int, directory: Path, notes: Mapping[bytes, bytes | None]) -> Iterator[SortedFiles]:
        with self._building(seq, directory) as files:
            yield files
            files.part().write(with_last_seq(sorted(notes.items())))

    @contextmanager
    def _building(self, seq: int, directory: Path) -> Iterator[SortedFiles]:
        self._refuse_seq(seq)
        folder = directory / f"{self._path.name}.ingest"
        shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed
        files = SortedFiles(folder, engine_options(self._tuning), seq, self._tuning.max_value_bytes)
        try:
            folder.mkdir(parents=True)
            yield files
            self._take_in(files.finish(), seq)
        except WeftError:
            raise
        except Exception as error:
            raise translated(self._path, error) from error
        finally:
            files.abandon()
            shutil.rmtree(folder, ignore_errors=True)

    def _take_in(self, files: list[str], seq: int) -> None:
        try:
            failpoints.point("store.ingest.before")
            self._database.ingest_external_file(files, moving_in())
            failpoints.point("store.ingest.after")
        except Exception as error:
            self._failure = translated(self._path, error)
            raise self._failure from error
        self._seq = seq

    def _refuse_after_failure(self) -> None:
        if self._failure is not None:
            raise StoreUnwritable(self._path, f"an earlier write failed, open the store again: {self._failure.problem}")

    def _refuse_seq(self, seq: int) -> None:
        self._refuse_after_failure()
        if seq <= self._seq:
            raise BatchRefused(self._path, f"seq {seq} is not above {self._seq}, the last one written here")

    def _prepare(self, batch: Batch, seq: int) -> WriteBatch:
        prepared = WriteBatch(raw_mode=True)
        for rows in batch.row_ranges:
            first, end = range_keys(rows)
            if first < end:
                prepared.delete_range(first, end)
        stamp = Stamp(seq)
        prefix = stamp.prefix
        prepared[LAST_SEQ] = prefix
        cells = batch.cells
        stored: dict[bytes, bytes] = {}
        # In key order RocksDB takes them 3 times as fast.
        for key in sorted(cells):
            value = cells[key]
            if value is None:
                prepared.delete(key)
            elif len(value) < LONG:
                prepared[key] = prefix + value
            else:
                # Two tables hold what a page says: packed once.
                prepared[key] = stored.get(value) or stored.setdefault(value, self._stored(stamp, value))
        if prepared.size_in_bytes() > MAX_BATCH:
            size = prepared.size_in_bytes()
            raise BatchRefused(self._path, f"a batch of {size:,} bytes is over the limit of {MAX_BATCH:,}; split it")
        return prepared

    def _prepare_copies(self, cells: Mapping[bytes, CopiedCell]) -> WriteBatch:
        prepared = WriteBatch(raw_mode=True)
        for key in sorted(cells):
            seq, value = cells[key]
            prepared[key] = self._stored(Stamp(seq), value)
        return prepared

    def _stored(self, stamp: Stamp, value: bytes) -> bytes:
        limit = self._tuning.max_value_bytes
        if len(value) > limit:
            raise BatchRefused(self._path, f"a value of {len(value):,} bytes is over the limit of {limit:,}")
        return stamp.stored(value)

    def snapshot(self) -> RocksReader:
        """A reader that nobody refreshes: iterators of rocksdict 0.3.29 look past its own snapshots."""
        return RocksReader(self._path, self._tuning)

    def flush(self) -> None:
        self._check(self._database.flush)

    def checkpoint(self, target: Path) -> None:
        if not directory.is_vacant(target):
            raise StoreError(target, "this is where the copy would go, and something is there already")
        directory.appear(target, self._copy, copy_of=self._path)

    def _copy(self, target: Path) -> None:
        self._check(lambda: Checkpoint(self._database).create_checkpoint(str(target)))
        _forget_binding_notes(target)

    def statistics(self) -> Mapping[str, int]:
        names = {
            "cells": "rocksdb.estimate-num-keys",
            "table_bytes": "rocksdb.total-sst-files-size",
            "memtable_bytes": "rocksdb.cur-size-all-mem-tables",
            "cache_bytes": "rocksdb.block-cache-usage",
            "compaction_pending_bytes": "rocksdb.estimate-pending-compaction-bytes",
        }
        figures = {name: self._database.property_int_value(key) or 0 for name, key in names.items()}
        return {"last_seq": self._seq, **figures}

    def close(self) -> None:
        try:
            if self._failure is not None:
                # Closing would flush and, on a full disk, wait for ever for room; the log has all that is acknowledged.
                self._database.cancel_all_background(False)
            super().close()
        except Exception as error:
            if self._failure is None:
                raise translated(self._path, error) from error
        finally:
            self._lock.release()


class RocksReader(RocksView):
    """Reads a store from any process while its writer runs; sees whole batches, as of the last `refresh`."""

    def __init__(self, path: Path, tuning: StoreSettings | None = None) -> None:
        directory.check(path)
        self._options = engine_options(tuning or StoreSettings())
        super().__init__(path, self._open(path))
        self.refresh()

    def _open(self, path: Path) -> Rdict:
        # A secondary passes over files that are missing or damaged and shows an older store; a read-only opening
        # tells. So that one comes first.
        _open_beside_writer(path, self._options, lambda _: AccessType.read_only(False)).close()
        return _open_beside_writer(path, self._options, AccessType.secondary)

    def refresh(self) -> None:
        """RocksDB reads its list of files first and then the log. If the writer flushes in between and removes that
        log, batches are missing until the list is read again: so again, until no flush came in between."""
        is_stale = False
        for _ in range(_TRIES):
            before = self._list_of_files()
            if is_stale:
                self._open_again()
            is_log_empty = self._is_log_empty()
            self._check(self._database.try_catch_up_with_primary)
            is_stale = self._has_replayed() and (is_log_empty or self._hides_newer())
            if not is_stale and self._list_of_files() == before:
                return
        raise StoreError(self._path, f"its files changed during each of {_TRIES} attempts to read them")

    # RocksDB looks a key up first among the cells that it replayed from the log, and drops those only when it meets an
    # entry in the writer's next log. After a flush or an ingest there is none until the next batch: until then what was
    # replayed before may hide what came later. Opening anew leaves it behind.

    def _open_again(self) -> None:
        replaced, self._database = self._database, self._open(self._path)
        replaced.close()

    def _has_replayed(self) -> bool:
        return bool(self._database.property_int_value("rocksdb.num-entries-active-mem-table"))

    def _is_log_empty(self) -> bool:
        newest = max(self._path.glob("*.log"), key=lambda log: int(log.stem), default=None)
        try:
            return newest is None or newest.stat().st_size == 0
        except FileNotFoundError:
            return True

    def _hides_newer(self) -> bool:
        """An iterator compares where a look-up does not; every batch writes this cell."""
        newest = next(self._forward(LAST_SEQ, None), None)
        return newest is not None and newest.seq != self.last_seq

    def _list_of_files(self) -> tuple[str, int]:
        """Name and size of RocksDB's manifest; one of them moves whenever the files change."""
        name = (self._path / "CURRENT").read_text().strip()
        try:
            return name, (self._path / name).stat().st_size
        except FileNotFoundError:  # the writer began a new manifest this very moment
            return self._list_of_files()


def _forget_binding_notes(path: Path) -> None:
    """rocksdict writes its own settings anew at every opening, a reader's too: two at once would trip over each other,
    and a read-only disk could not be read. We pass all settings ourselves, so they may go nowhere."""
    notes = path / "rocksdict-config.json"
    notes.unlink(missing_ok=True)
    notes.symlink_to("/dev/null")


def _open_beside_writer(path: Path, options: Options, access: Callable[[str], AccessType]) -> Rdict:
    """The writer may remove a file between our reading its name and opening it: then again."""
    for attempt in range(1, _TRIES + 1):
        scratch = tempfile.mkdtemp(prefix="weft-reader-")
        try:
            return open_database(path, options, access(scratch))
        except Exception as error:
            if attempt == _TRIES or "No such file" not in str(error) or not (path / "CURRENT").exists():
                raise translated(path, error) from error
        finally:
            # It holds only RocksDB's notes to itself, already open: gone now, it cannot be left behind by a kill.
            shutil.rmtree(scratch, ignore_errors=True)
        time.sleep(0.005)
    raise AssertionError("the last attempt returns or raises")

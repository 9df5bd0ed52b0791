"""Cells written straight into RocksDB's sorted files, to be taken in by a store in one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from rocksdict import IngestExternalFileOptions, Options, SstFileWriter

from weft.errors import BatchRefused
from weft.store.rocks_view import LAST_SEQ
from weft.store.values import seq_prefix

FILE_BYTES = 256 << 20

_LOOK_EVERY = 1000
"""Cells between two looks at a file's size."""


def moving_in() -> IngestExternalFileOptions:
    """The files themselves become the store's, not copies of them."""
    options = IngestExternalFileOptions()
    options.set_move_files(True)
    return options


class SortedFiles:
    """Files made in `folder`, which must be empty, of cells stamped with `seq`: in parts whose keys do not overlap."""

    def __init__(self, folder: Path, options: Options, seq: int, max_value_bytes: int) -> None:
        self._folder, self._options, self.max_value_bytes = folder, options, max_value_bytes
        self.stamp = seq_prefix(seq)
        self.paths: list[str] = []
        self._parts: list[Part] = []

    def part(self) -> Part:
        """One more stream of cells; several may be written by turns."""
        self._parts.append(Part(self))
        return self._parts[-1]

    def next_file(self) -> SstFileWriter:
        file = SstFileWriter(self._options)
        self.paths.append(str(self._folder / f"{len(self.paths):06d}.sst"))
        file.open(self.paths[-1])
        return file

    def refuse(self, problem: str) -> BatchRefused:
        return BatchRefused(self._folder, problem)

    def abandon(self) -> None:
        """Let go of files that are not complete."""
        for part in self._parts:
            part.abandon()

    def finish(self) -> list[str]:
        """The paths of all files, complete now."""
        for part in self._parts:
            part.finish()
        return self.paths


class Part:
    """Cells in ascending order of keys, in as many files as they need."""

    def __init__(self, files: SortedFiles) -> None:
        self._files = files
        self._file: SstFileWriter | None = None
        self._before = b""

    def write(self, cells: Iterable[tuple[bytes, bytes | None]]) -> None:
        remaining = iter(cells)
        while block := list(islice(remaining, _LOOK_EVERY)):
            self.write_columns(*zip(*block, strict=True))

    def write_columns(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
        if not keys:
            return
        self._refuse_large(values)
        if keys[0] <= self._before:
            self._refuse_disorder(keys)
        file, stamp = self._current_file(), self._files.stamp
        try:
            for key, value in zip(keys, values, strict=True):
                if value is None:
                    del file[key]
                else:
                    # Not packed, however long: these files are written once, and compressed as a whole.
                    file[key] = stamp + value
        except Exception:
            # RocksDB compares each key with the one before, so we need not.
            self._refuse_disorder(keys)
            raise
        finally:
            del file  # a traceback would keep it open, and with it its room on a full disk
        self._before = keys[-1]

    def _refuse_disorder(self, keys: Sequence[bytes]) -> None:
        for before, key in pairwise((self._before, *keys)):
            if key <= before:
                raise self._files.refuse(f"the key {key!r} does not come after {before!r}")

    def _refuse_large(self, values: Sequence[bytes | None]) -> None:
        limit = self._files.max_value_bytes
        largest = max(map(len, filter(None, values)), default=0)
        if largest > limit:
            raise self._files.refuse(f"a value of {largest:,} bytes is over the limit of {limit:,}")

    def _current_file(self) -> SstFileWriter:
        if self._file is not None and self._file.file_size() >= FILE_BYTES:
            self.finish()
        if self._file is None:
            self._file = self._files.next_file()
        return self._file

    def finish(self) -> None:
        if self._file is not None:
            self._file.finish()
            self._file = None

    def abandon(self) -> None:
        self._file = None


def with_last_seq(cells: Iterable[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, bytes | None]]:
    """The cells, and among them in its place the one that says which seq is the last."""
    remaining = iter(cells)
    for key, value in remaining:
        if key > LAST_SEQ:
            yield LAST_SEQ, b""
            yield key, value
            yield from remaining
            return
        yield key, value
    yield LAST_SEQ, b""

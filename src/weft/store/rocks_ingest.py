"""Cells written straight into RocksDB's sorted files, to be taken in by a store in one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rocksdict import IngestExternalFileOptions, Options, SstFileWriter

from weft.errors import BatchRefused
from weft.store.encoding import seq_prefix
from weft.store.rocks_view import LAST_SEQ

FILE_BYTES = 256 << 20

_LOOK_EVERY = 1000
"""Cells between two looks at a file's size."""


def moving_in() -> IngestExternalFileOptions:
    """The files themselves become the store's, not copies of them."""
    options = IngestExternalFileOptions()
    options.set_move_files(True)
    return options


class SortedFiles:
    """Files made in `folder`, which must be empty: cells in ascending order of keys, stamped with `seq`."""

    def __init__(self, folder: Path, options: Options, seq: int, max_value_bytes: int) -> None:
        self._folder, self._options, self._seq, self._max_value_bytes = folder, options, seq, max_value_bytes
        self._paths: list[str] = []

    def write(self, cells: Iterable[tuple[bytes, bytes | None]], file_bytes: int = FILE_BYTES) -> list[str]:
        """Write them all; the paths of the files, whose key ranges do not overlap."""
        stamp, before = seq_prefix(self._seq), b""
        file = self._next_file()
        for number, (key, value) in enumerate(_with_last_seq(cells)):
            if key <= before:
                raise BatchRefused(self._folder, f"the key {key!r} does not come after {before!r}")
            before = key
            if number % _LOOK_EVERY == _LOOK_EVERY - 1 and file.file_size() >= file_bytes:
                file.finish()
                file = self._next_file()
            if value is None:
                del file[key]
            else:
                self._check_size(value)
                file[key] = stamp + value
        file.finish()
        return self._paths

    def _next_file(self) -> SstFileWriter:
        file = SstFileWriter(self._options)
        self._paths.append(str(self._folder / f"{len(self._paths):06d}.sst"))
        file.open(self._paths[-1])
        return file

    def _check_size(self, value: bytes) -> None:
        limit = self._max_value_bytes
        if len(value) > limit:
            raise BatchRefused(self._folder, f"a value of {len(value):,} bytes is over the limit of {limit:,}")


def _with_last_seq(cells: Iterable[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, bytes | None]]:
    remaining = iter(cells)
    for key, value in remaining:
        if key > LAST_SEQ:
            yield LAST_SEQ, b""
            yield key, value
            yield from remaining
            return
        yield key, value
    yield LAST_SEQ, b""

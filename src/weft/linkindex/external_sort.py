"""Sorting more records than fit in memory: sorted runs wait on disk and are merged in order."""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, Self

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.errors import WeftError, is_disk_full

MEMORY: Final = 256 << 20
MOST_RUNS: Final = 64

_RECORD_COST: Final = 49
"""Bytes that a record in memory takes beside its own: the object's header, its place in a list, rounding."""
_MOST_RECORDS: Final = 4096

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(list[bytes]).decode


class SortUnwritable(WeftError):  # noqa: N818 - the state of a disk, as with the store's errors
    """What does not fit in memory cannot be put aside either."""

    def __init__(self, directory: Path, error: OSError) -> None:
        problem = "the disk is full; make room or name another directory" if is_disk_full(error) else error.strerror
        super().__init__(f"sorting in {directory}: {problem}")


class ExternalSort:
    """Takes records in any order and gives them back in the order of their bytes, duplicates too, as often as asked.

    A record is bytes and compares as a whole: to sort by a part, put it first and end it with something that sorts
    below whatever it can hold. One object a record, and nothing for the garbage collector to walk: three times as fast
    as sorting pairs. Memory stays near `memory` bytes whatever comes. The files have no name, so that they vanish with
    this process however it ends.
    """

    def __init__(self, directory: Path, memory: int = MEMORY, most_runs: int = MOST_RUNS) -> None:
        self._directory, self._memory, self._most_runs = directory, memory, max(2, most_runs)
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._runs: list[_Run] = []

    def add(self, record: bytes) -> None:
        self._held.append(record)
        self._held_bytes += len(record) + _RECORD_COST
        if self._held_bytes > self._memory:
            self._spill()

    def extend(self, records: list[bytes]) -> None:
        self._held += records
        self._held_bytes += sum(map(len, records)) + _RECORD_COST * len(records)
        if self._held_bytes > self._memory:
            self._spill()

    @property
    def is_on_disk(self) -> bool:
        """Whether there were too many for memory: then none is held there while they are read."""
        return bool(self._runs)

    def __iter__(self) -> Iterator[bytes]:
        """Every record so far; add nothing while this runs."""
        if not self._runs:
            self._held.sort()
            return iter(self._held)
        if self._held:
            self._spill()
        return chain.from_iterable(_merged(self._runs))

    def _spill(self) -> None:
        self._held.sort()
        whole = (self._held[at : at + _MOST_RECORDS] for at in range(0, len(self._held), _MOST_RECORDS))
        self._put_aside(whole)
        self._held, self._held_bytes = [], 0
        if len(self._runs) == self._most_runs:
            self._merge_smaller_half()

    def _merge_smaller_half(self) -> None:
        """Never more than `most_runs` are open, and a record is written once for each power of about half of that."""
        self._runs.sort(key=lambda run: run.size)
        some = self._runs[: max(2, self._most_runs // 2)]
        self._put_aside(_merged(some))
        self._runs = self._runs[len(some) :]
        for run in some:
            run.close()

    def _put_aside(self, blocks: Iterable[list[bytes]]) -> None:
        # A merge holds a block of every run.
        largest = self._memory // (2 * self._most_runs)
        try:
            run = _Run(self._directory)
            self._runs.append(run)
            for block in blocks:
                for part in _halved(block, largest):
                    run.append(part)
        except OSError as error:
            raise SortUnwritable(self._directory, error) from error

    def close(self) -> None:
        for run in self._runs:
            run.close()
        self._runs, self._held = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Run:
    """Sorted blocks in a file that has no name."""

    def __init__(self, directory: Path) -> None:
        # zstd costs as much as the unpacked bytes would cost to write, and sorted records shrink to a seventh.
        self._compress, self._decompress = ZstdCompressor(level=1).compress, ZstdDecompressor().decompress
        self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115 - closed by close()
        self._sizes: list[int] = []
        self.size = 0

    def append(self, block: list[bytes]) -> None:
        data = memoryview(self._compress(_pack(block)))
        self._sizes.append(len(data))
        self.size += len(data)
        while data:
            data = data[self._file.write(data) :]

    def blocks(self) -> Iterator[list[bytes]]:
        position = 0
        for size in self._sizes:
            # By position: two who read at once must not move each other.
            yield _unpack(self._decompress(os.pread(self._file.fileno(), size, position)))
            position += size

    def close(self) -> None:
        self._file.close()


def _halved(block: list[bytes], largest: int) -> Iterator[list[bytes]]:
    if len(block) == 1 or sum(map(len, block)) <= largest:
        yield block
        return
    middle = len(block) // 2
    yield from _halved(block[:middle], largest)
    yield from _halved(block[middle:], largest)


def _merged(runs: list[_Run]) -> Iterator[list[bytes]]:
    """Blocks of all runs' records in order.

    Whatever is not above the smallest last record of the blocks at hand is complete: no run has more below it. Sorting
    these pieces, each in order already, is a merge at the speed of C.
    """
    heads = [(next(blocks), blocks) for blocks in (run.blocks() for run in runs)]
    while heads:
        bound = min(block[-1] for block, _ in heads)
        ready: list[bytes] = []
        remaining = []
        for block, blocks in heads:
            cut = bisect_right(block, bound)
            ready += block[:cut]
            rest = block[cut:] or next(blocks, [])
            if rest:
                remaining.append((rest, blocks))
        heads = remaining
        ready.sort()
        yield ready

"""References of all pages, grouped by target, in bounded memory."""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import compress
from operator import attrgetter
from os import pread
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.linkindex.external_sort import MEMORY, SortUnwritable

_LINK_COST: Final = 60
"""Bytes that a reference takes in memory beside its anchor text: two places in lists, the text's own header."""
_TARGET_COST: Final = 300
_PAGE_COST: Final = 150
_MOST_LINKS: Final = 4096
"""References that a block on disk holds at most."""
_READ_COST: Final = 256
"""Bytes that a reference read back takes, about: uris have no more than that."""
_FEWEST_LINKS: Final = 64
"""References that a block should hold at least: with little memory fewer runs are merged at once."""
_MOST_RUNS: Final = 128


class Inlinks(NamedTuple):
    """Some of the references to a uri; those of one uri come one after another, in the order of their sources."""

    uri: bytes
    references: int
    plain: int
    """How many of these say http."""
    is_page: bool
    """Whether the uri's own content is there: said by one of its pieces."""
    sources: list[bytes]
    anchors: list[bytes]


class InlinkCount(msgspec.Struct, array_like=True, gc=False):
    """The beginning of an Inlinks, for those who only count: no object is made for a reference."""

    uri: bytes
    references: int
    plain: int
    is_page: bool


Piece = TypeVar("Piece", Inlinks, InlinkCount)

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(list[Inlinks]).decode
_unpack_counts: Final = msgspec.msgpack.Decoder(list[InlinkCount]).decode
_uri: Final = attrgetter("uri")


class InlinkSort:
    """Takes pages in ascending order of their uris and gives their references back in order of (target, source).

    Because sources come in order nothing is sorted but the targets: a reference costs two places in lists. Memory stays
    near `memory` bytes; the rest waits in files without a name, which vanish with this process however it ends.
    """

    def __init__(self, directory: Path, memory: int = MEMORY) -> None:
        self._directory, self._memory = directory, memory
        # A merge holds a block of every run.
        readable = memory // (4 * _READ_COST)
        self._most_runs = max(8, min(_MOST_RUNS, readable // _FEWEST_LINKS))
        self._block_links = max(1, min(_MOST_LINKS, readable // self._most_runs))
        self._runs: list[_Run] = []
        self._begin()

    def _begin(self) -> None:
        self._groups: defaultdict[bytes, list[bytes]] = defaultdict(list)
        """By target: source, anchor, source, anchor…"""
        self._plain: dict[bytes, int] = {}
        self._pages: set[bytes] = set()
        self._held = 0

    def add(self, source: bytes, targets: Sequence[bytes], anchors: Sequence[bytes], plain: Sequence[bool]) -> None:
        """A page and its references, each target once; the page itself exists even without any."""
        groups = self._groups
        known = len(groups)
        groups[source]  # it exists even if nobody refers to it
        self._pages.add(source)
        for target, anchor in zip(targets, anchors, strict=True):
            group = groups[target]
            group.append(source)
            group.append(anchor)
        if any(plain):
            for target in compress(targets, plain):
                self._plain[target] = self._plain.get(target, 0) + 1
        self._held += _PAGE_COST + len(source) + _TARGET_COST * (len(groups) - known)
        self._held += _LINK_COST * len(targets) + sum(map(len, anchors))
        if self._held > self._memory:
            self._spill()

    def __iter__(self) -> Iterator[Inlinks]:
        """Everything so far; add nothing while this runs."""
        return _merged([run.blocks() for run in self._runs]) if self._is_on_disk() else self._in_memory()

    def counts(self) -> Iterator[Inlinks] | Iterator[InlinkCount]:
        """The same pieces, if only to be counted."""
        return _merged([run.counts() for run in self._runs]) if self._is_on_disk() else self._in_memory()

    def _is_on_disk(self) -> bool:
        if self._runs and self._groups:
            self._spill()
        return bool(self._runs)

    def _in_memory(self) -> Iterator[Inlinks]:
        groups, plain, pages, make = self._groups, self._plain, self._pages, tuple.__new__
        for uri in sorted(groups):
            group = groups[uri]
            # Past the NamedTuple's own constructor, which takes five times as long.
            yield make(Inlinks, (uri, len(group) // 2, plain.get(uri, 0), uri in pages, group[::2], group[1::2]))

    def _spill(self) -> None:
        self._put_aside(self._in_memory(), level=0)
        self._begin()
        level = 0
        # Neighbours only, and each reference is written again once for each power of `_most_runs`.
        while len(same := [run for run in self._runs if run.level == level]) == self._most_runs:
            self._runs = [run for run in self._runs if run.level > level]
            self._put_aside(_merged([run.blocks() for run in same]), level := level + 1)
            for run in same:
                run.close()

    def _put_aside(self, pieces: Iterator[Inlinks], level: int) -> None:
        try:
            self._runs.append(_Run(self._directory, level, _blocks(pieces, self._block_links)))
        except OSError as error:
            raise SortUnwritable(self._directory, error) from error

    def close(self) -> None:
        for run in self._runs:
            run.close()
        self._runs = []
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Run:
    """Pieces in order of their uris, in compressed blocks of a file that has no name."""

    def __init__(self, directory: Path, level: int, blocks: Iterator[list[Inlinks]]) -> None:
        self.level = level
        self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115 - closed by close()
        self._sizes: list[int] = []
        squeeze = ZstdCompressor(level=1).compress
        for block in blocks:
            data = memoryview(squeeze(_pack(block)))
            self._sizes.append(len(data))
            while data:
                data = data[self._file.write(data) :]

    def blocks(self) -> Iterator[list[Inlinks]]:
        return map(_unpack, self._packed())

    def counts(self) -> Iterator[list[InlinkCount]]:
        return map(_unpack_counts, self._packed())

    def _packed(self) -> Iterator[bytes]:
        decompress = ZstdDecompressor().decompress
        position = 0
        for size in self._sizes:
            # By position: two who read at once must not move each other.
            yield decompress(pread(self._file.fileno(), size, position))
            position += size

    def close(self) -> None:
        self._file.close()


def _merged(runs: Sequence[Iterator[list[Piece]]]) -> Iterator[Piece]:
    """Pieces of one uri keep the order of their runs, which is that of their sources.

    Whatever is below the smallest last uri of the blocks at hand is complete: sorting it, in order by parts already, is
    a merge at the speed of C. That uri itself may go on in a run's next block.
    """
    heads = [(next(blocks), blocks) for blocks in runs]
    while heads:
        bound = min(block[-1].uri for block, _ in heads)
        cuts = [bisect_left(block, bound, key=_uri) for block, _ in heads]
        ready = [piece for (block, _), cut in zip(heads, cuts, strict=True) for piece in block[:cut]]
        ready.sort(key=_uri)
        yield from ready
        remaining = []
        for (block, blocks), cut in zip(heads, cuts, strict=True):
            rest = block[cut:]
            while rest and rest[0].uri == bound:
                end = bisect_right(rest, bound, key=_uri)
                yield from rest[:end]
                rest = rest[end:] or next(blocks, [])
            if rest:
                remaining.append((rest, blocks))
        heads = remaining


def _blocks(pieces: Iterator[Inlinks], most: int) -> Iterator[list[Inlinks]]:
    block: list[Inlinks] = []
    links = 0
    for piece in pieces:
        # Nearly all are short; this sees every target of every run.
        for part in (piece,) if piece[1] <= most else _parts(piece, most):
            block.append(part)
            links += part[1] + 1
            if links >= most:
                yield block
                block, links = [], 0
    if block:
        yield block


def _parts(piece: Inlinks, most: int) -> Iterator[Inlinks]:
    """A famous uri's references in several pieces; the first one carries what is counted."""
    uri, references, plain, is_page, sources, anchors = piece
    yield Inlinks(uri, most, plain, is_page, sources[:most], anchors[:most])
    for at in range(most, references, most):
        part = sources[at : at + most]
        yield Inlinks(uri, len(part), 0, False, part, anchors[at : at + most])

"""References of all pages, grouped by target, in bounded memory."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from os import pread
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from weft.linkindex.external_sort import MEMORY, SortUnwritable

_LINK_COST: Final = 60
"""Bytes that a reference takes in memory beside its anchor text: two places in lists, the text's own header."""
_TARGET_COST: Final = 400
_PAGE_COST: Final = 150
_MOST_LINKS: Final = 4096
"""References that a block on disk holds at most."""
_READ_COST: Final = 256
"""Bytes that a reference read back takes, about: uris have no more than that."""
_RUNS_OF_A_LEVEL: Final = 16


class Inlinks(NamedTuple):
    """Some of the references to a uri; those of one uri come one after another, in the order of their sources."""

    uri: bytes
    sources: list[bytes]
    anchors: list[bytes]
    plain: int
    """How many of these say http."""
    is_page: bool
    """Whether the uri's own content is there: said by one of its pieces."""


_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(list[Inlinks]).decode


class InlinkSort:
    """Takes pages in ascending order of their uris and gives their references back in order of (target, source).

    Because sources come in order nothing is sorted but the targets: a reference costs two places in lists. Memory stays
    near `memory` bytes; the rest waits in files without a name, which vanish with this process however it ends.
    """

    def __init__(self, directory: Path, memory: int = MEMORY) -> None:
        self._directory, self._memory = directory, memory
        # A merge holds a block of every run.
        self._block_links = max(1, min(_MOST_LINKS, memory // (4 * _RUNS_OF_A_LEVEL * _READ_COST)))
        self._runs: list[_Run] = []
        self._begin()

    def _begin(self) -> None:
        self._groups: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
        self._plain: dict[bytes, int] = {}
        self._pages: set[bytes] = set()
        self._held = 0

    def add(self, source: bytes, targets: Sequence[bytes], anchors: Sequence[bytes], plain: Iterable[bool]) -> None:
        """A page and its references, each target once; the page itself exists even without any."""
        groups = self._groups
        known = len(groups)
        groups.setdefault(source, ([], []))
        self._pages.add(source)
        for target, anchor in zip(targets, anchors, strict=True):
            group = groups.get(target)
            if group is None:
                group = groups[target] = ([], [])
            group[0].append(source)
            group[1].append(anchor)
        for target, says_http in zip(targets, plain, strict=True):
            if says_http:
                self._plain[target] = self._plain.get(target, 0) + 1
        self._held += _PAGE_COST + len(source) + _TARGET_COST * (len(groups) - known)
        self._held += _LINK_COST * len(targets) + sum(map(len, anchors))
        if self._held > self._memory:
            self._spill()

    def __iter__(self) -> Iterator[Inlinks]:
        """Everything so far; add nothing while this runs."""
        if not self._runs:
            return self._in_memory()
        if self._groups:
            self._spill()
        return _merged(self._runs)

    def _in_memory(self) -> Iterator[Inlinks]:
        for uri in sorted(self._groups):
            yield Inlinks(uri, *self._groups[uri], self._plain.get(uri, 0), uri in self._pages)

    def _spill(self) -> None:
        self._put_aside(self._in_memory(), level=0)
        self._begin()
        level = 0
        # Neighbours only, and each reference is written again once for each power of 16 runs.
        while len(same := [run for run in self._runs if run.level == level]) == _RUNS_OF_A_LEVEL:
            self._runs = [run for run in self._runs if run.level > level]
            self._put_aside(_merged(same), level := level + 1)
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
        compress = ZstdCompressor(level=1).compress
        for block in blocks:
            data = memoryview(compress(_pack(block)))
            self._sizes.append(len(data))
            while data:
                data = data[self._file.write(data) :]

    def __iter__(self) -> Iterator[Inlinks]:
        decompress = ZstdDecompressor().decompress
        position = 0
        for size in self._sizes:
            # By position: two who read at once must not move each other.
            yield from _unpack(decompress(pread(self._file.fileno(), size, position)))
            position += size

    def close(self) -> None:
        self._file.close()


def _merged(runs: list[_Run]) -> Iterator[Inlinks]:
    """Pieces of one uri keep the order of their runs, which is that of their sources."""
    return heapq.merge(*runs, key=itemgetter(0))


def _blocks(pieces: Iterator[Inlinks], most: int) -> Iterator[list[Inlinks]]:
    block: list[Inlinks] = []
    links = 0
    for piece in pieces:
        for part in _parts(piece, most):
            block.append(part)
            links += len(part.sources) + 1
            if links >= most:
                yield block
                block, links = [], 0
    if block:
        yield block


def _parts(piece: Inlinks, most: int) -> Iterator[Inlinks]:
    """A famous uri's references in several pieces; the first one carries what is counted."""
    if len(piece.sources) <= most:
        yield piece
        return
    yield piece._replace(sources=piece.sources[:most], anchors=piece.anchors[:most])
    for at in range(most, len(piece.sources), most):
        yield Inlinks(piece.uri, piece.sources[at : at + most], piece.anchors[at : at + most], 0, is_page=False)

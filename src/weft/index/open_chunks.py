"""Chunks that a builder has in hand: which of their links are loaded, and which are still being read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from weft.index import chunk_markers
from weft.linkindex.cells import Cells
from weft.mgmt.values import BuildChunk, BuildLink, ChunkId


class LinkTicket(NamedTuple):
    """A link of an open chunk: the chunk, and the link's place in the order of doc_ids."""

    chunk: ChunkId
    place: int


class ParkedChunk(NamedTuple):
    """A chunk of which everything is loaded but what lies on nodes that cannot be asked."""

    chunk: BuildChunk
    node: str
    """One of them."""


class OpenChunk:
    """A chunk and the set of its links that are loaded, as bits."""

    def __init__(self, chunk: BuildChunk, marker: bytes | None) -> None:
        self.chunk = chunk
        self.links = sorted(chunk.links, key=lambda link: link.doc_id)
        self._all = (1 << len(self.links)) - 1
        self._loaded = self._all if marker == chunk_markers.ALL_IN else int.from_bytes(marker or b"", "little")
        self.parked: dict[int, str] = {}
        """The places of links whose records cannot be reached, and the nodes where they lie."""

    @property
    def is_loaded(self) -> bool:
        return self._loaded == self._all

    @property
    def is_parked(self) -> bool:
        """Whether everything that is not loaded is parked."""
        return bool(self.parked) and self._with(self.parked) == self._all

    def missing(self) -> Iterator[tuple[LinkTicket, BuildLink]]:
        for place, link in enumerate(self.links):
            if not self._loaded >> place & 1:
                yield LinkTicket(self.chunk.id, place), link

    def marker_with(self, places: Iterable[int]) -> bytes:
        """The marker when these are loaded too."""
        loaded = self._with(places)
        if loaded == self._all:
            return chunk_markers.ALL_IN
        return loaded.to_bytes((len(self.links) + 7) // 8, "little")

    def add(self, places: Iterable[int]) -> None:
        self._loaded = self._with(places)

    def _with(self, places: Iterable[int]) -> int:
        loaded = self._loaded
        for place in places:
            loaded |= 1 << place
        return loaded


class OpenChunks:
    """All chunks in hand. A chunk leaves when all of its links are loaded, or when all are dropped."""

    def __init__(self) -> None:
        self._open: dict[ChunkId, OpenChunk] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, chunk: BuildChunk, marker: bytes | None) -> list[tuple[LinkTicket, BuildLink]]:
        """Take a chunk in hand; returns its links that are not loaded yet."""
        opened = self._open[chunk.id] = OpenChunk(chunk, marker)
        return list(opened.missing())

    def markers_with(self, tickets: Iterable[LinkTicket]) -> Cells:
        """The cells that say that these links are loaded too."""
        cells: Cells = {}
        for chunk, places in _by_chunk(tickets).items():
            cells |= chunk_markers.mark(chunk, self._open[chunk].marker_with(places))
        return cells

    def loaded(self, tickets: Iterable[LinkTicket]) -> None:
        """The batch with these links is written."""
        for chunk, places in _by_chunk(tickets).items():
            self._open[chunk].add(places)

    def waited(self, chunk: ChunkId) -> int:
        """Milliseconds since this chunk first waited for records."""
        return self._open[chunk].chunk.waited

    def park(self, ticket: LinkTicket, node: str) -> None:
        """The record of this link cannot be reached now."""
        self._open[ticket.chunk].parked[ticket.place] = node

    def unpark(self, away: Collection[str]) -> list[LinkTicket]:
        """The parked links whose nodes are not away any more: they are to be read."""
        found: list[LinkTicket] = []
        for name, opened in self._open.items():
            back = [place for place, node in opened.parked.items() if node not in away]
            found += [LinkTicket(name, place) for place in back]
            for place in back:
                del opened.parked[place]
        return found

    def take_parked(self) -> list[ParkedChunk]:
        """The chunks that wait for nothing but nodes that are away; they are not in hand any more."""
        parked = [opened for opened in self._open.values() if opened.is_parked]
        for opened in parked:
            del self._open[opened.chunk.id]
        return [ParkedChunk(opened.chunk, next(iter(opened.parked.values()))) for opened in parked]

    def take_loaded(self) -> list[BuildChunk]:
        """The chunks whose links are all loaded; they are not in hand any more."""
        whole = [opened.chunk for opened in self._open.values() if opened.is_loaded]
        for chunk in whole:
            del self._open[chunk.id]
        return whole

    def link(self, ticket: LinkTicket) -> BuildLink:
        return self._open[ticket.chunk].links[ticket.place]

    def drop(self) -> None:
        self._open = {}


def _by_chunk(tickets: Iterable[LinkTicket]) -> dict[ChunkId, list[int]]:
    places: dict[ChunkId, list[int]] = {}
    for chunk, place in tickets:
        places.setdefault(chunk, []).append(place)
    return places

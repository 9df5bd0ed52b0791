"""Reads fetches wherever their records lie: those of other nodes are fetched first, all are parsed in the lanes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from weft.archive.record_connection import NodeAccess
from weft.archive.record_reader import is_here
from weft.index.read_fetch import needs_record
from weft.index.reading_lanes import AskedFetch, ReadingLanes, ReadyFetch
from weft.index.record_fetching import AHEAD_BYTES, MOST_NODES, RecordFetching
from weft.index.record_nodes import AwayNode, UnreachableFetch
from weft.mgmt.values import BuildLink, WarcPosition


class RemoteReading:
    """A `FetchReading` and the `RecordNodes` in front of it: what lies in `archive` goes to the lanes as it is."""

    def __init__(
        self,
        lanes: ReadingLanes,
        archive: Path,
        access: NodeAccess,
        ahead: int = AHEAD_BYTES,
        most_nodes: int = MOST_NODES,
    ) -> None:
        self._lanes, self._archive = lanes, archive
        self._fetching = lanes.supply = RecordFetching(lanes, access, ahead, most_nodes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._fetching.close()

    @property
    def waiting(self) -> int:
        return self._lanes.waiting + self._fetching.coming

    def give(self, fetches: Iterable[AskedFetch]) -> None:
        placed = [(asked, self._elsewhere(asked.link)) for asked in fetches]
        self._lanes.give(asked for asked, at in placed if at is None)
        self._fetching.want((asked, at) for asked, at in placed if at is not None)

    def gather(self, most: int, seconds: float) -> None:
        self._lanes.gather(most, seconds)

    def take(self, seconds: float) -> ReadyFetch | None:
        return self._lanes.take(seconds)

    def take_heavy(self) -> ReadyFetch | None:
        return self._lanes.take_heavy()

    @property
    def heavy(self) -> dict[str, int]:
        return self._lanes.heavy

    def is_heavy(self, domain: str) -> bool:
        return self._lanes.is_heavy(domain)

    def drop(self) -> None:
        self._fetching.drop()

    def take_unreachable(self) -> list[UnreachableFetch]:
        return self._fetching.take_unreachable()

    def take_reachable(self) -> list[str]:
        return self._fetching.take_reachable()

    def away(self) -> dict[str, AwayNode]:
        return self._fetching.away()

    def _elsewhere(self, link: BuildLink) -> WarcPosition | None:
        """Where the record of a fetch lies, if not here."""
        at = link.result.position
        return at if at is not None and needs_record(link) and not is_here(self._archive, at.file) else None

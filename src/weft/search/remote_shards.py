"""All shards of an index, asked of its index servers; where none of them answers, read from the directories here."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from threading import Lock, Thread
from typing import Final, cast

from weft.errors import SearchMissing, WeftError
from weft.search.fan_out import DEADLINE, FanOut
from weft.search.indexer import shard_of
from weft.search.search_query import SearchQuery
from weft.search.server_connection import ServerAccess
from weft.search.server_messages import Asked, AskShards, CorrectShards, ExplainShards
from weft.search.shard_reader import ScorePart, ShardAnswer, ShardQuestion
from weft.search.shard_sources import DirectorySource, ServerSource, Source, Told
from weft.search.spelling import Correction

log = logging.getLogger(__name__)

_LOOK_EVERY: Final = 10.0
"""Seconds after which the list of servers is read again, in the background."""

ReadServers = Callable[[], tuple[Sequence[Told], ServerAccess]]


class RemoteShards:
    """Several threads may ask at a time. A shard that nobody answers for in time is None."""

    def __init__(
        self, count: int, read_servers: ReadServers, local: DirectorySource, deadline: float = DEADLINE
    ) -> None:
        """`read_servers` tells who there is now; a WeftError of it leaves things as they were."""
        self._count, self._read_servers, self._local, self._deadline = count, read_servers, local, deadline
        self._servers: dict[str, ServerSource] = {}
        self._lock = Lock()
        self._turn = 0
        self._looked_at = 0.0
        self.look()

    def ask(self, question: ShardQuestion) -> list[ShardAnswer | None]:
        shards = list(range(self._count))
        found = self._answers(AskShards(shards=shards, count=self._count, question=question))
        if not found and not self._servers and not any(self._local.has(number) for number in shards):
            raise SearchMissing("of this home")
        return cast("list[ShardAnswer | None]", [found.get(number) for number in shards])

    def correct(self, word: str) -> list[Correction]:
        found = self._answers(CorrectShards(shards=list(range(self._count)), count=self._count, word=word[:200]))
        return sorted(one for some in found.values() for one in cast("list[Correction]", some))

    def explain(self, query: SearchQuery, uri: str) -> list[ScorePart]:
        number = shard_of(uri.encode(), self._count)
        found = self._answers(ExplainShards(shards=[number], count=self._count, query=query, uri=uri))
        return cast("list[ScorePart]", found.get(number, []))

    def refresh(self) -> None:
        """Servers always answer from what is committed; what is read here is looked at again."""
        self._local.refresh()

    def close(self) -> None:
        for server in self._servers.values():
            server.close()

    def look(self) -> bool:
        """Find out which servers there are; whether there are any."""
        self._looked_at = time.monotonic()
        try:
            told, access = self._read_servers()
        except WeftError as error:
            log.info("index servers not looked up reason=%s", error)
            return bool(self._servers)
        with self._lock:
            known = self._servers
            self._servers = {one.address: _kept(known.get(one.address), one, access) for one in told}
        return bool(told)

    def _answers(self, asked: Asked) -> dict[int, object]:
        self._turn += 1
        turn = self._turn
        if time.monotonic() - self._looked_at > _LOOK_EVERY:
            self._looked_at = time.monotonic()
            Thread(target=self.look, name="weft-look", daemon=True).start()
        return FanOut(asked, lambda number: self._sources(number, turn), self._deadline).run(self.look)

    def _sources(self, number: int, turn: int) -> list[Source]:
        """The servers that told of this shard first, and of those another row's each time."""
        servers = list(self._servers.values())
        rows = sorted({server.told.row for server in servers})

        def rank(server: ServerSource) -> tuple[bool, bool, bool, int, str]:
            told = server.told
            place = (rows.index(told.row) + turn) % len(rows)
            return server.has_failed, number not in told.shards, told.is_behind, place, told.address

        return [*sorted(servers, key=rank), self._local]


def _kept(known: ServerSource | None, told: Told, access: ServerAccess) -> ServerSource:
    """One that is known keeps its connections, unless it is spoken to in another way now."""
    if known is None or known.access != access:
        return ServerSource(told, access)
    known.told = told
    return known

"""Who can be asked about shards: an index server over HTTP, or the directories of this home."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, Protocol, cast

import msgspec

from weft.errors import SearchError
from weft.search.local_shards import shard_directory
from weft.search.server_connection import Call, ServerAccess, ServerConnections, ServerSilent
from weft.search.server_messages import (
    PATHS,
    Asked,
    AskedShards,
    AskShards,
    CorrectedShards,
    CorrectShards,
    ExplainedShards,
    ExplainShards,
    question_of,
)
from weft.search.shard_reader import ShardReader

FIRST_HEDGE: Final = 0.05
"""Seconds after which another server is asked, too, before anything is known of this one; never earlier."""
_LAST_HEDGE: Final = 1.0
_LOCAL_HEDGE: Final = 0.5
"""The same before directories are opened: that is work for this process."""
_REMEMBERED: Final = 100
_KNOWN: Final = 10
"""Answers from which on a server's time is known."""
_FAILED_SECONDS: Final = 5.0
"""How long one that failed is asked last."""
_REFRESH_SECONDS: Final = 1.0
_ANSWERS: Final = {AskShards: AskedShards, CorrectShards: CorrectedShards, ExplainShards: ExplainedShards}


class Source(Protocol):
    @property
    def begins_after(self) -> float:
        """Seconds that others are waited for before this one is asked, too."""

    @property
    def hedge_after(self) -> float:
        """Seconds that this one is waited for before others are asked, too."""

    def ask(self, asked: Asked, seconds: float, call: Call) -> Sequence[object]:
        """An answer for each of the shards, None where there is none; raises ServerSilent and SearchError."""

    def failed(self) -> None:
        """It did not answer."""

    def lost(self) -> None:
        """Others, who were asked later because it was slow, have answered before it."""


class Told(msgspec.Struct, frozen=True):
    """What is known of an index server from its last heartbeat."""

    address: str
    row: int
    shards: frozenset[int] = frozenset()
    is_behind: bool = False


class ServerSource:
    """An index server, and how fast it has been."""

    begins_after = 0.0

    def __init__(self, told: Told, access: ServerAccess) -> None:
        self.told, self.access = told, access
        self._connections = ServerConnections(told.address, access)
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self._failed_at, self._lost = -_FAILED_SECONDS, 0

    @property
    def has_failed(self) -> bool:
        """Lately."""
        return time.monotonic() - self._failed_at < _FAILED_SECONDS

    @property
    def hedge_after(self) -> float:
        """What nineteen of twenty answers took at most, within bounds."""
        seconds = sorted(self._seconds)
        if len(seconds) < _KNOWN:
            return FIRST_HEDGE
        return min(_LAST_HEDGE, max(FIRST_HEDGE, seconds[int(len(seconds) * 0.95)]))

    def ask(self, asked: Asked, seconds: float, call: Call) -> Sequence[object]:
        began = time.monotonic()
        content = self._connections.post(PATHS[type(asked)], msgspec.json.encode(asked), seconds, call)
        try:
            found = msgspec.json.decode(content, type=_ANSWERS[type(asked)])
        except msgspec.MsgspecError as error:
            raise ServerSilent(f"index server {self.told.address}: answers what is no answer: {error}") from error
        if len(found.answers) != len(asked.shards):
            raise ServerSilent(f"index server {self.told.address}: answers for other shards")
        self._seconds.append(time.monotonic() - began)
        self._failed_at, self._lost = -_FAILED_SECONDS, 0
        return cast(Sequence[object], found.answers)

    def failed(self) -> None:
        self._failed_at = time.monotonic()

    def lost(self) -> None:
        self._lost += 1
        if self._lost > 1:
            self.failed()

    def close(self) -> None:
        self._connections.close()


class DirectorySource:
    """The rows in a home; of each shard the one that is furthest."""

    begins_after = _LOCAL_HEDGE
    hedge_after = _LAST_HEDGE

    def __init__(self, rows: Sequence[Path], store: str, count: int) -> None:
        self._rows, self._store, self._count = rows, store, count
        self._readers: dict[int, ShardReader] = {}
        self._refreshed_at = 0.0
        self._lock = Lock()

    def ask(self, asked: Asked, seconds: float, call: Call) -> Sequence[object]:
        question = question_of(asked)
        readers = [self._reader(number) for number in asked.shards]
        return [reader and question(reader) for reader in readers]

    def failed(self) -> None:
        pass

    def lost(self) -> None:
        pass

    def refresh(self) -> None:
        with self._lock:
            self._readers.clear()

    def has(self, number: int) -> bool:
        return self._reader(number) is not None

    def _reader(self, number: int) -> ShardReader | None:
        with self._lock:
            now = time.monotonic()
            if now - self._refreshed_at > _REFRESH_SECONDS:
                self._readers.clear()
                self._refreshed_at = now
            if number not in self._readers and (found := self._open(number)) is not None:
                self._readers[number] = found
            return self._readers.get(number)

    def _open(self, number: int) -> ShardReader | None:
        found: list[ShardReader] = []
        for row in self._rows:
            with suppress(SearchError):
                found.append(ShardReader(shard_directory(row, self._store, number, self._count)))
        return max(found, key=lambda reader: reader.cursors.content, default=None)

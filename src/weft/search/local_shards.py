"""All shards of a row, read from their directories: what is asked where no index server runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weft.search.indexer import shard_path
from weft.search.search_query import SearchQuery
from weft.search.shard import ShardDirectory, ShardName
from weft.search.shard_reader import ScorePart, ShardAnswer, ShardQuestion, ShardReader
from weft.search.spelling import Correction


class LocalShards:
    """Raises SearchMissing if a shard is missing, and SearchDamaged if one is damaged: it is better to say so than to
    leave out pages."""

    def __init__(self, readers: Sequence[ShardReader]) -> None:
        self._readers = readers

    @classmethod
    def open(cls, row: Path, store: str, count: int) -> LocalShards:
        return cls([ShardReader(directory) for directory in shard_directories(row, store, count)])

    @property
    def complete_to(self) -> int:
        """The seq up to which everything is in all shards."""
        return min(reader.cursors.references for reader in self._readers)

    def refresh(self) -> None:
        for reader in self._readers:
            reader.refresh()

    def close(self) -> None:
        """Nothing is held that does not go with the object."""

    def ask(self, question: ShardQuestion) -> list[ShardAnswer | None]:
        return [reader.ask(question) for reader in self._readers]

    def correct(self, word: str) -> list[Correction]:
        return sorted(found for reader in self._readers for found in reader.correct(word))

    def explain(self, query: SearchQuery, uri: str) -> list[ScorePart]:
        return next((parts for reader in self._readers if (parts := reader.explain(query, uri))), [])


def shard_directories(row: Path, store: str, count: int) -> list[ShardDirectory]:
    return [shard_directory(row, store, number, count) for number in range(count)]


def shard_directory(row: Path, store: str, number: int, count: int) -> ShardDirectory:
    return ShardDirectory(shard_path(row, number), ShardName(store, number, count))

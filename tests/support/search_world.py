"""An index and its search index in one process, and what another program says should be searchable."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

from weft.clock import ManualClock
from weft.config.sections import IndexserverSettings, IndexSettings
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.pipeline import LinkIndex
from weft.search.indexer import Indexer
from weft.search.local_shards import shard_directories
from weft.search.shard import open_index
from weft.search.verify import expected_documents, held_documents
from weft.store.memory import MemoryStore
from weft.store.timeline import source_of

STORE = MemoryStore().id


def put_in_place(file: Path, content: bytes) -> None:
    """As another file: tantivy has the old one mapped, and a process that reads what was cut off a mapped file dies."""
    other = file.with_name("other")
    other.write_bytes(content)
    other.replace(file)


class SearchWorld:
    def __init__(self, path: Path, shards: int = 1, anchors_every: float = 600.0) -> None:
        self.path, self.clock, self.store = path, ManualClock(1_000_000), MemoryStore()
        self.settings = IndexserverSettings(shards=shards, anchors_every=anchors_every, memory=16 << 20)
        self.index = LinkIndex(self.store, IndexSettings(), self.clock)
        self.indexer = self.open()

    def open(self) -> Indexer:
        indexer = Indexer(self.store, self.path, source_of(self.store), self.settings, self.clock)
        assert indexer.own(range(self.settings.shards)) == []
        return indexer

    def reopen(self) -> None:
        """As if the process had been killed between two steps, and started again."""
        self.indexer.close()
        self.indexer = self.open()

    def load(self, *pages: LoadedPage) -> None:
        self.clock.advance(0.01)
        self.index.apply(pages)

    def directories(self):
        return shard_directories(self.path, source_of(self.store), self.settings.shards)

    def held(self) -> dict[str, bytes]:
        """What is searchable: uri and digest of each document, every one of them once."""
        found: list[tuple[str, bytes]] = []
        for directory in self.directories():
            path = directory.current()
            assert path is not None
            found += held_documents(open_index(path).searcher(), path)
        assert len(dict(found)) == len(found)
        return dict(found)

    def expected(self) -> dict[str, bytes]:
        return {document.uri: document.digest() for document in expected_documents(self.store)}

    def close(self) -> None:
        self.indexer.close()
        rmtree(self.path, ignore_errors=True)

"""One shard of the search index: a tantivy index that knows how much of the feed is in it.

A shard's directory holds one generation, a directory of its own, and the file `current`, which names it. A new
generation is built beside the one that answers, and takes its place when the file is replaced.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, NamedTuple, Self

import msgspec
import tantivy
from tantivy import Document, Index, IndexWriter, Query, Searcher

from weft import failpoints
from weft.errors import FULL_DISK, SearchDamaged, SearchUnwritable, why_unwritable
from weft.process_lock import LockHeld, ProcessLock
from weft.search.document import SearchDocument
from weft.search.schema import ANSWERING, FORMAT, NOTE_FIELD, NOTE_NAME, as_tantivy, make_schema, register_analyzers

_CURRENT: Final = "current"
_GENERATION: Final = "generation-"
_NOT_ENOUGH: Final = 1 << 20
"""Bytes: with less room than that nothing can be committed."""
_MIRRORED_TIMES: Final = 3
_REMOVED_TIMES: Final = 20
"""How often a directory is opened through links: its writer may remove files meanwhile."""
ENGINE: Final = ".".join(tantivy.__version__.split(".")[:2])  # type: ignore[attr-defined]  # its types leave it out
"""The version of tantivy that wrote the files."""


class Cursors(msgspec.Struct, frozen=True):
    """How far the feed is in the index: every change of content and of references up to these seqs."""

    content: int = 0
    references: int = 0


class ShardName(msgspec.Struct, frozen=True):
    """What a shard is a part of. One that was made for another is built anew."""

    store: str
    """The store that its documents come from, and which past of it (`store/timeline`)."""
    number: int
    count: int
    format: int = FORMAT
    engine: str = ENGINE


class _Current(msgspec.Struct, frozen=True):
    generation: int
    name: ShardName


class ShardHeld(NamedTuple):
    """Who writes a shard, in words."""

    holder: str


class ShardDirectory:
    """Where a shard lies, and which of its generations is the current one."""

    def __init__(self, path: Path, name: ShardName) -> None:
        self.path, self.name = path, name

    def current(self) -> Path | None:
        """The generation to read; None: there is none for this name. It may be of an older format."""
        found = self._read()
        if found is None or found.name.format not in ANSWERING:
            return None
        is_ours = msgspec.structs.replace(found.name, format=self.name.format) == self.name
        return self._generation(found.generation) if is_ours else None

    def current_of_format(self) -> Path | None:
        """The generation to write to, or to compare; None: it must be built anew."""
        found = self._read()
        return self._generation(found.generation) if found is not None and found.name == self.name else None

    def next_generation(self) -> Path:
        """An empty directory to build in. What earlier builds left behind is removed."""
        current = self.current()
        for left in self.path.glob(f"{_GENERATION}*"):
            if left != current:
                shutil.rmtree(left, ignore_errors=True)
        numbers = [int(current.name.removeprefix(_GENERATION))] if current else []
        made = self._generation(max(numbers, default=0) + 1)
        with _writing(self.path):
            made.mkdir(parents=True)
        return made

    def switch(self, generation: Path) -> None:
        """Make this generation the current one, and remove the one before. Whoever reads that one may go on."""
        note = _Current(int(generation.name.removeprefix(_GENERATION)), self.name)
        aside = self.path / f"{_CURRENT}.new"
        with _writing(self.path), aside.open("wb") as file:
            file.write(msgspec.json.encode(note))
            file.flush()
            os.fsync(file.fileno())
        failpoints.point("search.switch.before")
        with _writing(self.path):
            aside.replace(self.path / _CURRENT)
            _sync(self.path)
        failpoints.point("search.switch.after")
        for other in self.path.glob(f"{_GENERATION}*"):
            if other != generation:
                shutil.rmtree(other, ignore_errors=True)

    def _read(self) -> _Current | None:
        try:
            return msgspec.json.decode((self.path / _CURRENT).read_bytes(), type=_Current)
        except (OSError, msgspec.DecodeError):
            return None

    def _generation(self, number: int) -> Path:
        return self.path / f"{_GENERATION}{number:06d}"


class ShardWriter:
    """The one writer of a generation. What it is given is found after the next commit, all at once."""

    def __init__(self, path: Path, memory: int) -> None:
        self.path = path
        self._index = open_index(path, is_new=not any(path.iterdir()))
        with _writing(path):
            self._writer: IndexWriter = self._index.writer(memory, 1)
        self.cursors = read_cursors(self._index.searcher(), path)
        self._is_new = self.cursors == Cursors()
        self.written = 0
        """Documents since the last commit."""

    def put(self, uri: str, document: SearchDocument | None) -> None:
        """The document of a uri from now on; None: it has none."""
        with _writing(self.path):
            self._writer.delete_documents_by_term("uri", uri)
            if document is not None:
                self._writer.add_document(as_tantivy(document))
        self.written += 1

    def add(self, document: SearchDocument) -> None:
        """Like `put`, for a uri that has no document yet."""
        with _writing(self.path):
            self._writer.add_document(as_tantivy(document))
        self.written += 1

    def commit(self, cursors: Cursors) -> None:
        """Make everything durable and visible, together with the cursors."""
        note = Document()
        note.add_text(NOTE_FIELD, NOTE_NAME)
        note.add_text("noted", msgspec.json.encode(cursors).decode())
        with _writing(self.path):
            failpoints.point("search.commit.before")
            self._writer.delete_documents_by_term(NOTE_FIELD, NOTE_NAME)
            self._writer.add_document(note)
            self._writer.commit()
        failpoints.point("search.commit.after")
        self.cursors, self.written = cursors, 0

    def settle(self) -> None:
        """Wait for merges, then let go of the index; nothing can be written any more."""
        with _writing(self.path):
            self._writer.wait_merging_threads()

    def searcher(self) -> Searcher:
        self._index.reload()
        return self._index.searcher()


class ShardLock:
    """Held by the process that writes a shard."""

    def __init__(self, path: Path) -> None:
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = ProcessLock.take(path / "writer.lock")

    def release(self) -> None:
        self._lock.release()

    @classmethod
    def try_take(cls, path: Path) -> Self | ShardHeld:
        try:
            return cls(path)
        except LockHeld as held:
            return ShardHeld(str(held.holder))


def open_index(path: Path, *, is_new: bool = False) -> Index:
    with reading(path):
        index = Index(make_schema(), str(path), reuse=not is_new) if is_new else Index.open(str(path))
        register_analyzers(index)
        return index


def open_searcher(path: Path) -> tuple[Index | None, Searcher]:
    """A searcher over a generation, and its index if that can be loaded again.

    tantivy makes a lock file where it reads. Where nothing can be written, a directory of links stands in for it: what
    it has opened then, it keeps open.
    """
    if os.access(path, os.W_OK):
        index = open_index(path)
        return index, _searcher_of(index, path)
    for _ in range(_MIRRORED_TIMES):
        with _passing_directory() as place:
            _mirror(path, place)
            with suppress(SearchDamaged):
                return None, _searcher_of(open_index(place), path)
    raise SearchDamaged(path, "it cannot be opened where nothing can be written")


@contextmanager
def _passing_directory() -> Iterator[Path]:
    place = Path(mkdtemp(prefix="weft-search-"))
    try:
        yield place
    finally:
        # Threads of tantivy may make a lock file while it is being removed.
        for _ in range(_REMOVED_TIMES):
            shutil.rmtree(place, ignore_errors=True)
            if not place.exists():
                break
            time.sleep(0.01)


def _searcher_of(index: Index, path: Path) -> Searcher:
    with reading(path):
        index.config_reader("manual")
        return index.searcher()


def _mirror(path: Path, place: Path) -> None:
    with reading(path):
        # First: somebody else may write, and files that it names stay for a while.
        shutil.copy(path / "meta.json", place)
        for file in path.iterdir():
            if file.name != "meta.json" and not file.name.startswith("."):
                (place / file.name).symlink_to(file.resolve())


def read_cursors(searcher: Searcher, path: Path) -> Cursors:
    with reading(path):
        found = searcher.search(Query.term_query(make_schema(), NOTE_FIELD, NOTE_NAME), 1).hits
        if not found:
            return Cursors()
        noted = searcher.doc(found[0][1]).get_first("noted")
        return msgspec.json.decode(noted or "{}", type=Cursors)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise SearchDamaged(path, str(error)) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # tantivy's; it is no Exception
            raise SearchDamaged(path, str(error)) from error
        raise


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SearchUnwritable(path, why_unwritable(error)) from error
    except ValueError as error:
        # tantivy does not say which error of the operating system it was.
        raise SearchUnwritable(path, FULL_DISK if _is_full(path) else str(error)) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise SearchDamaged(path, str(error)) from error
        raise


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path).free < _NOT_ENOUGH
    except OSError:
        return False


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

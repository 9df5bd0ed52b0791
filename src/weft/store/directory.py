"""A store's directory: whose it is, which format it has, and who writes it now."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from weft.errors import StoreError, StoreForeign, StoreInUse, StoreMissing, StoreUnwritable

FORMAT = 1
MARKER = "weft-store.json"


def check(path: Path) -> None:
    """Raise unless `path` is a store of the format that this weft reads."""
    if not path.exists():
        raise StoreMissing(path, "there is no store here; create one with `weft init`")
    if not path.is_dir():
        raise StoreForeign(path, "this is a file; a store is a directory")
    try:
        marker = json.loads((path / MARKER).read_bytes())
    except FileNotFoundError:
        raise StoreForeign(
            path, f"this directory is not a weft store (it has no {MARKER}); nothing was changed"
        ) from None
    except (ValueError, OSError) as error:
        raise StoreForeign(path, f"{MARKER} cannot be read ({error})") from error
    found = marker.get("format") if isinstance(marker, dict) else None
    if found != FORMAT:
        raise StoreForeign(path, f"the store has format {found!r}; this weft reads format {FORMAT}")


def is_vacant(path: Path) -> bool:
    """Whether a new store may be made at `path`: nothing is there, or an empty directory."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def appear(path: Path, fill: Callable[[Path], None]) -> None:
    """Make a store directory that is there whole or not at all: filled aside, marked, synced, then renamed."""
    aside = path.with_name(f"{path.name}.new")
    shutil.rmtree(aside, ignore_errors=True)  # left by a process that was killed while filling it
    try:
        aside.parent.mkdir(parents=True, exist_ok=True)
        fill(aside)
        _write_marker(aside)
        if path.exists():
            path.rmdir()
        aside.rename(path)
        _sync_directory(path.parent)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise StoreUnwritable(path, f"cannot be made: {error.strerror or error}") from error
    except StoreError:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _write_marker(path: Path) -> None:
    note = {"weft": "store", "engine": "rocksdb", "format": FORMAT}
    with (path / MARKER).open("w") as file:
        json.dump(note, file)
        file.flush()
        os.fsync(file.fileno())
    _sync_directory(path)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _duration(span: timedelta) -> str:
    seconds = max(0, round(span.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


class WriterLock:
    """Held by the one process that writes a store. The operating system frees it when that process ends."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.lock")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreUnwritable(store, f"cannot be opened for writing: {error.strerror}") from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._read_holder()
            os.close(self._handle)
            raise StoreInUse(store, f"{holder} is using this home; stop it or wait") from None
        self._write_holder()

    def _write_holder(self) -> None:
        # Only for the message that the next process prints; on a full disk the lock itself still holds.
        command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200]
        since = datetime.now(UTC).isoformat(timespec="seconds")
        note = json.dumps({"pid": os.getpid(), "command": command, "since": since})
        try:
            os.truncate(self._handle, 0)
            os.pwrite(self._handle, note.encode(), 0)
        except OSError:
            os.truncate(self._handle, 0)

    def _read_holder(self) -> str:
        try:
            note = json.loads(os.pread(self._handle, 4096, 0))
            age = datetime.now(UTC) - datetime.fromisoformat(note["since"])
            return f"another weft (pid {note['pid']}, `{note['command']}`, running for {_duration(age)})"
        except (ValueError, KeyError, TypeError):
            return "another weft"

    def release(self) -> None:
        """Let the next writer in; calling it twice is harmless."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

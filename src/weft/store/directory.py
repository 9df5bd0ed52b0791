"""A store's directory: whose it is, which format it has, and who writes it now."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

from weft.errors import StoreError, StoreForeign, StoreInUse, StoreMissing, StoreUnwritable, why_unwritable
from weft.model.versions import FINGERPRINTS, URI_RULES
from weft.process_lock import LockHeld, ProcessLock

FORMAT = 2
"""Of keys and values. 2: what concerns all domains is in a row per base, and history tells changes of pages."""
MARKER = "weft-store.json"

_VERSIONS: Final = {"format": FORMAT, "uri_rules": URI_RULES, "fingerprints": FINGERPRINTS}


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
    _check_versions(path, marker if isinstance(marker, dict) else {})


def _check_versions(path: Path, marker: dict[str, object]) -> None:
    for name, wanted in _VERSIONS.items():
        found = marker.get(name)
        if found != wanted:
            what = name.replace("_", " ")
            way_out = _way_out(path, is_newer=isinstance(found, int) and found > wanted)
            raise StoreForeign(path, f"the store has {what} {found!r}, this weft reads {what} {wanted}; {way_out}")


def _way_out(path: Path, *, is_newer: bool) -> str:
    if is_newer:
        return "use the weft that made it, or a later one"
    archive = shlex.quote(str(path.parent / "warc"))
    return f"make a new home of its archive: `weft import --home NEW {archive}/*.warc.gz`"


def is_vacant(path: Path) -> bool:
    """Whether a new store may be made at `path`: nothing is there, or an empty directory."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def store_id(path: Path) -> str:
    """What names the store at `path` for good, wherever it is moved; empty if it was never opened for writing."""
    try:
        return str(json.loads((path / MARKER).read_bytes()).get("id", ""))
    except (ValueError, OSError):
        return ""


def give_id(path: Path) -> None:
    """Name a store that was made before stores had names. Its one writer calls this."""
    if not store_id(path):
        _write_marker(path, _new_id())


def _new_id() -> str:
    return uuid.uuid4().hex


def appear(path: Path, fill: Callable[[Path], None], copy_of: Path | None = None) -> None:
    """Make a store directory that is there whole or not at all: filled aside, marked, synced, then renamed.

    A copy has the id of its original: it may take that one's place.
    """
    aside = path.with_name(f"{path.name}.new")
    shutil.rmtree(aside, ignore_errors=True)  # left by a process that was killed while filling it
    try:
        aside.parent.mkdir(parents=True, exist_ok=True)
        fill(aside)
        _write_marker(aside, (store_id(copy_of) if copy_of else "") or _new_id())
        if path.exists():
            path.rmdir()
        aside.rename(path)
        _sync_directory(path.parent)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise StoreUnwritable(path, f"cannot be made: {why_unwritable(error)}") from error
    except StoreError:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def replace(new: Path, path: Path) -> None:
    """Put the store at `new`, which nobody has open, in the place of the one at `path`, which may be there and is lost.

    Killed at any moment, it may be called again as long as `new` is there.
    """
    old = path.with_name(f"{path.name}.replaced")
    try:
        shutil.rmtree(old, ignore_errors=True)
        if path.exists():
            path.rename(old)
        new.rename(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise StoreUnwritable(path, f"cannot be replaced: {why_unwritable(error)}") from error
    shutil.rmtree(old, ignore_errors=True)


def _write_marker(path: Path, id_: str) -> None:
    note = {"weft": "store", "engine": "rocksdb", **_VERSIONS, "id": id_}
    aside = path / f"{MARKER}.new"
    with aside.open("w") as file:
        json.dump(note, file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path / MARKER)
    _sync_directory(path)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class WriterLock:
    """Held by the one process that writes a store."""

    def __init__(self, store: Path) -> None:
        try:
            self._lock = ProcessLock.take(store.with_name(f"{store.name}.lock"))
        except LockHeld as held:
            raise StoreInUse(store, f"{held.holder} is using this home; stop it with `weft stop`") from None
        except OSError as error:
            raise StoreUnwritable(store, f"cannot be opened for writing: {why_unwritable(error)}") from error

    def release(self) -> None:
        """Let the next writer in; calling it twice is harmless."""
        self._lock.release()

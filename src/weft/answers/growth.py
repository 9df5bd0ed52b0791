"""How large the parts of a home are, how fast they grow, and what bounds them: said before anything is dropped.

The index process notes the sizes now and then; growth is what they tell.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from weft.answers.disk import size
from weft.config import Settings
from weft.roles.status_file import last_status, write_status
from weft.store.open import is_cluster

_ROLE: Final = "growth"
_NOTES: Final = 300
_WINDOW: Final = 7 * 86_400.0
"""Seconds of which growth is told."""
_APART: Final = 3600.0
"""Seconds between two notes that are kept, once there are many."""
_SHORTEST: Final = 600.0
"""Seconds after which growth is told: what a start costs, such as logs of databases, says nothing about a day."""
_DAY: Final = 86_400.0
_LONG: Final = 36_500.0
"""Days beyond which nothing is foretold."""
_BEGAN: Final = re.compile(r"weft-(\d{14})-")
_WORDS: Final = {"archive": "the oldest captures", "history": "the oldest changes"}

ARCHIVE, HISTORY = "archive", "history"


class PartSize(msgspec.Struct, frozen=True, kw_only=True):
    bytes: int
    per_day: float | None = None
    """Bytes that it grows in a day, without what was dropped on purpose; None: not known yet."""
    bound: str = ""
    """The setting that bounds its size; empty: none does."""
    limit: int = 0
    reached_in: float | None = None
    """Seconds until the bound is reached, 0: it is; None: not known, or there is no bound."""


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    parts: dict[str, PartSize]
    measured: float = 0.0
    """Seconds of which growth is told."""
    oldest_capture: float | None = None
    """Seconds since the oldest file of the archive was begun."""
    keep_days: int = 0
    keep_captures: int = 0
    days_left: float | None = None
    """Until the disk has no more than spider.min_free, if all grows on; None: not known, or not foreseeable."""


def home_sizes(home: Path, archive: Path) -> dict[str, int]:
    """Bytes of each part of a home that is there."""
    parts = {"store": home / "store", "search": home / "search", ARCHIVE: archive, "logs": home / "logs"}
    parts["backup"] = home / "backup"
    found = {part: sum(_files(path)) for part, path in parts.items() if path.is_dir()}
    mgmt = [_size(file) for file in home.glob("mgmt.db*") if file.is_file()]
    # The index process counts it, and tells it with its other figures of the store.
    history = ((last_status(home, "index") or {}).get("store") or {}).get("history_bytes")
    told = {} if history is None else {HISTORY: int(history)}
    return {**found, **({"mgmt": sum(mgmt)} if mgmt else {}), **told}


def note_sizes(home: Path, sizes: Mapping[str, int]) -> None:
    """Remember how large everything is now. One process of a home does so."""
    now = time.time()
    notes = [note for note in _notes(home) if now - _WINDOW <= note["at"] <= now]
    if len(notes) >= _NOTES // 2:
        notes = _thinned(notes)
    write_status(home, _ROLE, {"notes": [*notes, {"at": now, "sizes": dict(sizes)}][-_NOTES:]})


def growth(home: Path, settings: Settings, free: int) -> Growth:
    archive = home / settings.spider.warc_dir
    notes = _notes(home)
    sizes = home_sizes(home, archive)
    now = time.time()
    notes = [note for note in notes if now - _WINDOW <= note["at"] <= now] + [{"at": now, "sizes": sizes}]
    measured = now - notes[0]["at"]
    is_known = len(notes) > 1 and measured >= _SHORTEST
    parts = {
        part: _part(part, bytes_, notes, measured if is_known else 0.0, settings) for part, bytes_ in sizes.items()
    }
    total = sum(_net(part, notes) for part in sizes if part != HISTORY)
    days = (free - settings.spider.min_free) / (total / measured) / _DAY if is_known and total > 0 else None
    return Growth(
        parts=parts,
        measured=measured if is_known else 0.0,
        oldest_capture=_oldest(archive, now),
        keep_days=settings.archive.keep_days,
        keep_captures=settings.archive.keep_captures,
        days_left=None if days is None or days > _LONG else max(0.0, days),
    )


def growth_lines(found: Growth) -> Iterator[str]:
    """For people; nothing while no index process has run."""
    for part, about in found.parts.items():
        grows = "" if about.per_day is None else f", grows {size(round(about.per_day))} a day"
        yield f"{part} {size(about.bytes)}{grows}{_bound_words(part, about)}"
    if found.keep_days and found.oldest_capture is not None:
        age = _days(found.oldest_capture / _DAY)
        yield f"archive.keep_days is {found.keep_days}: the oldest file was begun {age} ago"
    if found.keep_captures:
        yield f"archive.keep_captures is {found.keep_captures}: older captures of a page go"
    if found.days_left is not None:
        yield f"disk is full in {_days(found.days_left)} if all grows on"


def _bound_words(part: str, about: PartSize) -> str:
    if not about.bound:
        return ""
    limit = f"{about.bound} ({size(about.limit)})"
    if about.bytes >= about.limit:
        return f"; {limit} is reached, {_WORDS[part]} go"
    if about.reached_in is None:
        return f"; {limit} bounds it"
    return f"; {limit} is reached in {_days(about.reached_in / _DAY)}, then {_WORDS[part]} go"


def _days(days: float) -> str:
    if days < 2:
        return f"{days * 24:.0f} h"
    return f"{days:.0f} days" if days < 1000 else f"{days / 365:.0f} years"


def _part(part: str, bytes_: int, notes: Sequence[dict[str, Any]], measured: float, settings: Settings) -> PartSize:
    grown = _gross(part, notes) if part in _WORDS else max(0, _net(part, notes))
    per_day = grown / measured * _DAY if measured else None
    bound, limit = _bound(part, settings)
    reached = None
    if limit and bytes_ >= limit:
        reached = 0.0
    elif limit and per_day and (days := (limit - bytes_) / per_day) < _LONG:
        reached = days * _DAY
    return PartSize(bytes=bytes_, per_day=per_day, bound=bound if limit else "", limit=limit, reached_in=reached)


def _bound(part: str, settings: Settings) -> tuple[str, int]:
    if part == ARCHIVE:
        return "archive.keep_bytes", settings.archive.keep_bytes
    if part == HISTORY and not is_cluster(settings):
        return "index.keep_bytes", settings.index.keep_bytes
    return "", 0


def _net(part: str, notes: Sequence[dict[str, Any]]) -> int:
    told = [note["sizes"][part] for note in notes if part in note["sizes"]]
    return told[-1] - told[0] if told else 0


def _gross(part: str, notes: Sequence[dict[str, Any]]) -> int:
    """What came, whatever went in between."""
    told = [note["sizes"][part] for note in notes if part in note["sizes"]]
    return sum(max(0, later - earlier) for earlier, later in pairwise(told))


def _notes(home: Path) -> list[dict[str, Any]]:
    facts = last_status(home, _ROLE) or {}
    return [note for note in facts.get("notes", ()) if isinstance(note, dict) and {"at", "sizes"} <= note.keys()]


def _thinned(notes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for note in notes:
        if not kept or note["at"] - kept[-1]["at"] >= _APART:
            kept.append(note)
    return kept


def _oldest(archive: Path, now: float) -> float | None:
    """By the names of its files: of those that were pruned the newest captures are left, whatever their names say."""
    begun = min(
        (found[1] for file in archive.glob("weft-*.warc.gz") if (found := _BEGAN.match(file.name))), default=None
    )
    if begun is None:
        return None
    try:
        return max(0.0, now - datetime.strptime(begun, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _files(path: Path) -> Iterator[int]:
    """Bytes of each file below `path`; files come and go meanwhile."""
    for folder, _, names in os.walk(path):
        yield from (_size(Path(folder, name)) for name in names)


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0

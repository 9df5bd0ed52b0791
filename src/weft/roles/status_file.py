"""What a running role tells of itself: a small file in the home, replaced as a whole, for those who look."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec

_FOLDER = "status"
STALE_SECONDS = 10.0
"""A file that was not renewed for so long is of a role that is gone."""


def write_status(home: Path, role: str, facts: dict[str, Any]) -> None:
    """Best effort: a full disk must not stop a role for want of a status."""
    folder = home / _FOLDER
    part = folder / f".{role}.{os.getpid()}"
    try:
        folder.mkdir(exist_ok=True)
        part.write_bytes(msgspec.json.encode({"at": time.time(), "pid": os.getpid(), **facts}))
        part.replace(folder / f"{role}.json")
    except OSError:
        part.unlink(missing_ok=True)


def read_status(home: Path, role: str) -> dict[str, Any] | None:
    """What the role told last, if it runs."""
    facts = last_status(home, role)
    if facts is None or facts.get("ended"):
        return None
    # A moment in the future was written before the clock was set back: a role that runs writes another one soon.
    return facts if abs(time.time() - facts.get("at", 0)) < STALE_SECONDS else None


def last_status(home: Path, role: str) -> dict[str, Any] | None:
    """What the role told last, also if it is gone: `at` says when, and `ended` whether those were its last words."""
    try:
        facts = msgspec.json.decode((home / _FOLDER / f"{role}.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    return facts if isinstance(facts, dict) else None


def status_names(home: Path, beginning: str) -> list[str]:
    """The roles of this home whose names begin so, and that have told something."""
    return sorted(file.stem for file in (home / _FOLDER).glob(f"{beginning}*.json"))


def forget_status(home: Path, role: str) -> None:
    (home / _FOLDER / f"{role}.json").unlink(missing_ok=True)

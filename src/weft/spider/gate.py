"""Whether more work may be taken in, and every reason why not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from weft.archive.archive_directory import free_bytes
from weft.archive.archive_errors import ArchiveUnwritable
from weft.roles.open_files import socket_problem

log = logging.getLogger(__name__)

_LOOK_EVERY: Final = 1.0
GATES: Final = ("archive", "disk", "drain", "pause", "sockets")
"""Everybody who may have a reason."""


@dataclass(slots=True)
class Gate:
    """Open while nobody has a reason against it."""

    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return not self.reasons

    def close(self, who: str, reason: str) -> None:
        if who not in self.reasons:
            log.warning("no more fetches are begun because %s", reason)
        self.reasons[who] = reason

    def open(self, who: str) -> None:
        if self.reasons.pop(who, ""):
            log.warning("the reason %s is gone; fetches are begun: %s", who, self.is_open)

    def set(self, who: str, reason: str) -> None:
        """Close with a reason, or open without one."""
        if reason:
            self.close(who, reason)
        else:
            self.open(who)


async def watch_machine(
    archive: Path, least: int, problem: Callable[[], str], gate: Gate, look: Callable[[], None]
) -> None:
    """Begin nothing while the disk is nearly full, the archive cannot be written, or no connection can be opened."""
    while True:
        gate.set("archive", problem())
        gate.set("sockets", socket_problem())
        try:
            free = free_bytes(archive)
        except ArchiveUnwritable as error:
            gate.set("disk", str(error))
        else:
            gate.set("disk", f"{archive} has {free} bytes left, fewer than spider.min_free" if free < least else "")
        look()
        await asyncio.sleep(_LOOK_EVERY)

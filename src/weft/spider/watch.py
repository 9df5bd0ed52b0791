"""What the spider keeps an eye on: what it is asked to be, and how much disk is left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from weft.archive.directory import free_bytes
from weft.mgmt.values import NodeState
from weft.spider.control import Control
from weft.spider.gate import Gate

log = logging.getLogger(__name__)

_DISK_EVERY: Final = 1.0


async def follow_requests(
    control: Control, every: float, gate: Gate, look: Callable[[], None], drain: asyncio.Event
) -> None:
    """Give signs of life to the control plane and do what it asks: pause, go on, drain."""
    while True:
        await asyncio.sleep(every)
        try:
            asked = await control.heartbeat()
        except Exception as error:
            # Whatever it is, fetching goes on; the lease ends by itself if this does.
            log.warning("no sign of life could be given reason=%s", error)
            continue
        gate.set("pause", "it was asked to pause" if asked is NodeState.PAUSED else "")
        if asked in (NodeState.DRAINING, NodeState.OFFLINE):
            drain.set()
        look()


async def watch_disk(
    archive: Path, least: int, problem: Callable[[], str], gate: Gate, look: Callable[[], None]
) -> None:
    """Begin nothing while the disk is nearly full, or the archive cannot be written."""
    while True:
        gate.set("archive", problem())
        try:
            free = free_bytes(archive)
        except OSError as error:
            gate.set("disk", f"{archive} cannot be looked at: {error.strerror}")
        else:
            gate.set("disk", f"{archive} has {free} bytes left, fewer than spider.min_free" if free < least else "")
        look()
        await asyncio.sleep(_DISK_EVERY)

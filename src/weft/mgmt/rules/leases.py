"""How a node is judged by its heartbeats, and what it is asked to be after a restart."""

from __future__ import annotations

from typing import Final

import msgspec

from weft.config.sections import MgmtSettings
from weft.mgmt.values import Health, NodeState, NodeTold

LEAST_REMEMBERED: Final = 86_400.0
"""Seconds; `weft nodes --all` lists nodes for so long, whatever leaves the other lists sooner."""
FIGURES_MOST: Final = 16 * 1024
"""Bytes of a node's figures that are kept."""


def health_of(state: NodeState, stored: Health, late: int, heartbeat: float, lease: float) -> Health:
    """By the milliseconds since the last heartbeat; a node that is offline keeps the health it left with."""
    if state is NodeState.OFFLINE:
        return stored
    if is_ended(late, lease):
        return Health.FAILURE
    return Health.PROBATION if late > 2 * heartbeat * 1000 else Health.HEALTHY


def is_ended(late: int, lease: float) -> bool:
    return late > lease * 1000


def remembered(settings: MgmtSettings) -> int:
    """For how many milliseconds a node that is offline is kept at least, after its last heartbeat."""
    return round(max(settings.show_dead, LEAST_REMEMBERED) * 1000)


def asked_after_register(asked: NodeState) -> NodeState:
    """A pause outlives a restart; a drain is over once the node is."""
    return NodeState.PAUSED if asked is NodeState.PAUSED else NodeState.ONLINE


def skew_of(told: NodeTold, now: int) -> int | None:
    """How far a node's clock is ahead of the control plane's, as it told; None: it did not."""
    return told.clock - now if told.clock else None


def stored_figures(told: NodeTold) -> str | None:
    """The figures of a heartbeat as they are kept; None: those of before stay."""
    text = msgspec.json.encode(told.figures).decode() if told.figures else ""
    return text if 0 < len(text) <= FIGURES_MOST else None

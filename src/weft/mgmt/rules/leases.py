"""How a node is judged by its heartbeats, and what it is asked to be after a restart."""

from __future__ import annotations

from weft.mgmt.values import Health, NodeState


def health_of(state: NodeState, stored: Health, late: int, heartbeat: float, lease: float) -> Health:
    """By the milliseconds since the last heartbeat; a node that is offline keeps the health it left with."""
    if state is NodeState.OFFLINE:
        return stored
    if is_ended(late, lease):
        return Health.FAILURE
    return Health.PROBATION if late > 2 * heartbeat * 1000 else Health.HEALTHY


def is_ended(late: int, lease: float) -> bool:
    return late > lease * 1000


def asked_after_register(asked: NodeState) -> NodeState:
    """A pause outlives a restart; a drain is over once the node is."""
    return NodeState.PAUSED if asked is NodeState.PAUSED else NodeState.ONLINE

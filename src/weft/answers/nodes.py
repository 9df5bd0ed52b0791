"""The nodes that people want to see."""

from __future__ import annotations

from collections.abc import Iterable

from weft.mgmt.values import Health, Node, NodeState


def living_nodes(nodes: Iterable[Node], show_dead: float) -> list[Node]:
    """Without those that are offline or dead and sent their last heartbeat more than `show_dead` seconds ago.

    Their rows stay for good, because chunks name them.
    """
    return [node for node in nodes if not (_is_dead(node) and node.seen > show_dead * 1000)]


def _is_dead(node: Node) -> bool:
    return node.state is NodeState.OFFLINE or node.health is Health.FAILURE

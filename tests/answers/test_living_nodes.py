"""Nodes that died long ago are not listed."""

from __future__ import annotations

import pytest

from weft.answers.nodes import living_nodes
from weft.mgmt.values import Health, Node, NodeId, NodeState, NodeType


def node(state: NodeState, health: Health, seconds: int) -> Node:
    seen = seconds * 1000
    about = {"id": NodeId(1), "address": "a:1", "type": NodeType.SPIDER, "epoch": 1, "holds": 0}
    return Node(state=state, health=health, seen=seen, **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "health", "seconds", "is_listed"),
    [
        (NodeState.OFFLINE, Health.HEALTHY, 59, True),
        (NodeState.OFFLINE, Health.HEALTHY, 61, False),
        (NodeState.OFFLINE, Health.FAILURE, 61, False),
        (NodeState.ONLINE, Health.FAILURE, 61, False),
        (NodeState.ONLINE, Health.HEALTHY, 61, True),
        (NodeState.DRAINING, Health.PROBATION, 61, True),
    ],
)
def test_who_is_listed(state: NodeState, health: Health, seconds: int, is_listed: bool) -> None:
    assert bool(living_nodes([node(state, health, seconds)], show_dead=60.0)) is is_listed

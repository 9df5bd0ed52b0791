"""weft's processes, as people see them."""

from __future__ import annotations

from typing import Final, NamedTuple

from weft.answers.nodes import WHAT, is_up
from weft.mgmt.values import Node, NodeState, NodeType

_ROLES: Final = {
    "urlserver": "URL server",
    "spider": "Spider",
    "index": "Index",
    "indexserver": "Search",
    "web": "Web app",
}


class Role(NamedTuple):
    """A process, as people see it."""

    name: str
    node: Node
    state: str
    is_up: bool
    memory: int | None
    """Bytes."""
    may_pause: bool


def role_of(node: Node) -> Role:
    state = str(node.state)
    if node.asked is not node.state and node.asked is not NodeState.ONLINE and is_up(node):
        state += f", asked: {node.asked}"
    process = node.figures.get("process")
    memory = process.get("memory") if isinstance(process, dict) else None
    name = WHAT.get(node.type, str(node.type))
    return Role(
        name=_ROLES.get(name, name),
        node=node,
        state=state,
        is_up=is_up(node),
        memory=memory if isinstance(memory, int) else None,
        may_pause=node.type is not NodeType.WEB_APP,
    )

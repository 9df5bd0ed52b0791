"""Asking running processes to pause, drain or resume."""

from __future__ import annotations

from weft.errors import NotKnown
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Node, NodeState


def ask_nodes(mgmt: OperatorCalls, address: str, state: NodeState) -> list[Node]:
    """Ask whoever is at an address to be in a state; returns these nodes as they are now. Raises NotKnown."""
    found = [node for node in mgmt.nodes() if node.address == address]
    if not found:
        raise NotKnown(f"no node has the address {address}")
    for node in found:
        mgmt.ask(node.id, state)
    return [node for node in mgmt.nodes() if node.address == address]

"""Asking running processes to pause, drain or resume."""

from __future__ import annotations

from weft.errors import NotKnown
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Node, NodeState


def ask_nodes(mgmt: OperatorCalls, address: str | None, state: NodeState) -> list[Node]:
    """Ask whoever is at an address, or all that run, to be in a state; returns these nodes as they are now.

    Raises NotKnown if there is none.
    """
    mgmt.reap()
    found = {node.id for node in mgmt.nodes() if node.address == address or (not address and _runs(node))}
    if not found:
        raise NotKnown(f"no node has the address {address}" if address else "no node is running")
    for node in found:
        mgmt.ask(node, state)
    return [node for node in mgmt.nodes() if node.id in found]


def _runs(node: Node) -> bool:
    return node.state is not NodeState.OFFLINE

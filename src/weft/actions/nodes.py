"""Asking running processes to pause, drain or resume."""

from __future__ import annotations

from weft.errors import NotKnown, UsageError
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Node, NodeState, NodeType


def ask_nodes(mgmt: OperatorCalls, address: str | None, state: NodeState) -> list[Node]:
    """Ask whoever is at an address, or all that run, to be in a state; returns these nodes as they are now.

    A web app cannot pause. Raises NotKnown if there is none to ask, UsageError if the one that is named cannot do it.
    """
    mgmt.reap()
    nodes = mgmt.nodes()
    found = {node.id for node in nodes if (node.address == address if address else _is_meant(node, state))}
    if not found:
        raise NotKnown(f"no node has the address {address}" if address else "no node is running")
    if state is NodeState.PAUSED and any(node.id in found and node.type is NodeType.WEB_APP for node in nodes):
        raise UsageError(f"{address} is a web app, which has no work to pause and goes on answering")
    for id_ in found:
        mgmt.ask(id_, state)
    return [node for node in mgmt.nodes() if node.id in found]


def _is_meant(node: Node, state: NodeState) -> bool:
    """Whether a node is among all that run and can be asked this."""
    has_work = node.type is not NodeType.WEB_APP
    return node.state is not NodeState.OFFLINE and (has_work or state is NodeState.DRAINING)

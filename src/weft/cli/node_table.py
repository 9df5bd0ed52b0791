"""How weft's processes are shown in a table."""

from __future__ import annotations

from collections.abc import Sequence

from weft.mgmt.values import Node, NodeState


def node_table(nodes: Sequence[Node]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows; the machines are named where there are several."""
    shows_machines = len({node.machine for node in nodes}) > 1
    header = ("node", "machine", "type", "state", "health", "seen (s)", "holds", "clock (s)")
    rows = [_row(node) for node in nodes]
    if shows_machines:
        return header, rows
    return header[:1] + header[2:], [row[:1] + row[2:] for row in rows]


def _row(node: Node) -> tuple[str, ...]:
    is_settled = node.asked in (node.state, NodeState.ONLINE) or node.state is NodeState.OFFLINE
    state = node.state if is_settled else f"{node.state}, asked: {node.asked}"
    # Not -0.0: a call takes a moment, so that a right clock seems to be a little behind.
    seen, clock = f"{node.seen / 1000:.0f}", "" if node.skew is None else f"{round(node.skew / 1000, 1) or 0:+.1f}"
    return node.address, node.machine, node.type, state, node.health, seen, str(node.holds), clock

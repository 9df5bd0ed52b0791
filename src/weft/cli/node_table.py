"""How weft's processes are shown in a table."""

from __future__ import annotations

from collections.abc import Sequence

from weft.mgmt.values import Node


def node_table(nodes: Sequence[Node]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows; the machines are named where there are several."""
    shows_machines = len({node.machine for node in nodes}) > 1
    header = ("node", "machine", "type", "state", "health", "seen (s)", "holds", "clock (s)")
    rows = [_row(node) for node in nodes]
    if shows_machines:
        return header, rows
    return header[:1] + header[2:], [row[:1] + row[2:] for row in rows]


def _row(node: Node) -> tuple[str, ...]:
    state = node.state if node.asked in (node.state, "online") else f"{node.state}, asked: {node.asked}"
    seen, clock = f"{node.seen / 1000:.0f}", "" if node.skew is None else f"{node.skew / 1000:+.1f}"
    return node.address, node.machine, node.type, state, node.health, seen, str(node.holds), clock

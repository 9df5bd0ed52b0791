"""How weft's processes are shown in a table."""

from __future__ import annotations

from collections.abc import Sequence

from weft.answers.nodes import stands_by
from weft.answers.search_servers import numbers_in_words, search_server
from weft.mgmt.values import Node, NodeState, NodeType

_SEARCH = ("row", "shards", "seq", "lag")


def node_table(nodes: Sequence[Node]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows; the machines are named where there are several, the shards where there are index servers."""
    shows_machines = len({node.machine for node in nodes}) > 1
    shows_search = any(node.type is NodeType.INDEX_SERVER for node in nodes)
    header: tuple[str, ...] = ("node", "machine", "type", "state", "health", "seen (s)", "holds", "clock (s)")
    rows = [_row(node) for node in nodes]
    if shows_search:
        header, rows = header + _SEARCH, [row + _search(node) for row, node in zip(rows, nodes, strict=True)]
    if shows_machines:
        return header, rows
    return header[:1] + header[2:], [row[:1] + row[2:] for row in rows]


def _search(node: Node) -> tuple[str, ...]:
    told = search_server(node)
    if told is None:
        return "", "", "", ""
    return str(told.row), numbers_in_words(told.shards) or "none", f"{told.content:,}", f"{told.lag:,}"


def _row(node: Node) -> tuple[str, ...]:
    is_settled = node.asked in (node.state, NodeState.ONLINE) or node.state is NodeState.OFFLINE
    state = node.state if is_settled else f"{node.state}, asked: {node.asked}"
    if stands_by(node) and node.state is not NodeState.OFFLINE:
        state = f"{state}, stands by"
    # Not -0.0: a call takes a moment, so that a right clock seems to be a little behind.
    seen, clock = f"{node.seen / 1000:.0f}", "" if node.skew is None else f"{round(node.skew / 1000, 1) or 0:+.1f}"
    return node.address, node.machine, node.type, state, node.health, seen, str(node.holds), clock

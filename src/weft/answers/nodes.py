"""The nodes that people want to see, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from weft.mgmt.values import Health, Node, NodeState, NodeType

SKEW_TOLD: Final = 5_000
"""Milliseconds that a clock may differ from the control plane's before people are told."""
WHAT: Final = {
    NodeType.CRAWLER: "urlserver",
    NodeType.SPIDER: "spider",
    NodeType.INDEX_BUILDER: "index",
    NodeType.INDEX_SERVER: "indexserver",
    NodeType.WEB_APP: "web",
}
"""The role that runs as a node of this type."""
WEB: Final = WHAT[NodeType.WEB_APP]


def living_nodes(nodes: Iterable[Node], show_dead: float) -> list[Node]:
    """Without those that are offline or dead and sent their last heartbeat more than `show_dead` seconds ago.

    Their rows stay for good, because chunks name them.
    """
    return [node for node in nodes if is_up(node) or node.seen <= show_dead * 1000]


def is_up(node: Node) -> bool:
    """Whether it runs, as far as the control plane knows."""
    return node.state is not NodeState.OFFLINE and node.health is not Health.FAILURE


def is_crawling(node: Node) -> bool:
    """Whether it runs and is one of those that crawl, index and search: a web app only shows what they do."""
    return is_up(node) and node.type is not NodeType.WEB_APP


def index_node(nodes: Iterable[Node]) -> Node | None:
    """The index process that works, wherever it runs."""
    indexes = (node for node in nodes if node.type is NodeType.INDEX_BUILDER and is_up(node))
    return next((node for node in indexes if not stands_by(node)), None)


def stands_by(node: Node) -> bool:
    """Whether it is an index process that waits until another one is gone."""
    return bool(node.figures.get("stands_by"))


def warnings(nodes: Iterable[Node]) -> Iterator[str]:
    """What somebody should look at, on any machine, a sentence each."""
    for node in filter(is_up, nodes):
        yield from _clock_warnings(node)
        yield from _figure_warnings(node)


def _clock_warnings(node: Node) -> Iterator[str]:
    if node.skew is not None and abs(node.skew) > SKEW_TOLD:
        by = f"{_seconds(abs(node.skew))} {'ahead of' if node.skew > 0 else 'behind'}"
        yield f"the clock of {_named(node)} is {by} the control plane's; set it right (NTP)"


def _figure_warnings(node: Node) -> Iterator[str]:
    """Figures come from another version of weft, perhaps: nothing is taken for granted."""
    for spider, problem in _table(node, "spiders_away"):
        yield f"{_named(node)} cannot reach spider {spider}: {problem}"
    for spider, facts in _table(node, "away"):
        about = facts if isinstance(facts, dict) else {}
        since = f" for {_seconds(int(about.get('seconds', 0)) * 1000)}"
        yield f"{_named(node)} cannot read the records of {spider}{since}: {about.get('reason', '')}"
    closed = node.figures.get("closed")
    for reason in closed if isinstance(closed, list) else []:
        yield f"{_named(node)} fetches nothing because {reason}"
    waits_for = node.figures.get("waits_for")
    if waits_for and isinstance(waits_for, str):
        yield f"{_named(node)} cannot write now: {waits_for}"
    problem = node.figures.get("problem")
    if problem and isinstance(problem, str):
        yield f"{_named(node)} makes nothing new searchable: {problem}"


def _table(node: Node, name: str) -> list[tuple[str, object]]:
    found = node.figures.get(name)
    return sorted(found.items()) if isinstance(found, dict) else []


def _named(node: Node) -> str:
    role = WHAT.get(node.type, node.type)
    return f"{role} {node.address}" if node.machine in ("", node.address) else f"{role} {node.address} ({node.machine})"


def _seconds(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"

"""Stopping weft on all machines, through the control plane."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Node, NodeState, NodeType

_WORKING: Final = (NodeType.CRAWLER, NodeType.SPIDER, NodeType.INDEX_BUILDER, NodeType.INDEX_SERVER)
"""First who takes work, last who finishes it."""
_ORDER: Final = (*_WORKING, NodeType.WEB_APP)
"""Web apps after all others: people watch there how those end."""
_LOOK_EVERY: Final = 0.2


class StopAllAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes were asked to stop."""

    asked: list[str]
    left: list[str]
    """Those that have not ended."""
    took: float
    """Seconds."""


def stop_all(mgmt: OperatorCalls, patience: float, progress: Callable[[str], None] = lambda _: None) -> StopAllAnswer:
    """Have every node finish its work and end; returns when all have, or after `patience` seconds.

    A node that is dead counts as ended once its lease has.
    """
    began, asked = time.monotonic(), list[str]()
    for type_ in _ORDER:
        while running := _running(mgmt, type_):
            # Again and again: one that was restarted by its supervisor has forgotten it.
            _ask(mgmt, running)
            for node in running:
                if node.address not in asked:
                    asked.append(node.address)
                    progress(f"asking {node.address} to finish its work")
            if time.monotonic() >= began + patience:
                break
            time.sleep(_LOOK_EVERY)
    left = [node.address for type_ in _ORDER for node in _running(mgmt, type_)]
    return StopAllAnswer(asked=asked, left=left, took=round(time.monotonic() - began, 1))


def ask_all_to_stop(mgmt: OperatorCalls) -> list[str]:
    """Ask every node to finish its work and end, all at once and without waiting; returns their addresses.

    What is fetched but not indexed by then is indexed by the next run. Web apps are not asked: those that belong to a
    run end with it, and others go on to show what is known.
    """
    running = [node for type_ in _WORKING for node in _running(mgmt, type_)]
    _ask(mgmt, running)
    return [node.address for node in running]


def _ask(mgmt: OperatorCalls, nodes: list[Node]) -> None:
    for node in nodes:
        if node.asked is not NodeState.DRAINING:
            mgmt.ask(node.id, NodeState.DRAINING)


def _running(mgmt: OperatorCalls, type_: NodeType) -> list[Node]:
    mgmt.reap()
    return [node for node in mgmt.nodes() if node.type is type_ and node.state is not NodeState.OFFLINE]

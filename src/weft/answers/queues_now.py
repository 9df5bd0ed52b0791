"""The queues of all URL servers that run, on any machine."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest

import msgspec

from weft.answers.nodes import is_up
from weft.config import Settings
from weft.errors import NotKnown
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Node, NodeType
from weft.urlserver.view.questions import NoUrlServer, ask_queues
from weft.urlserver.view.snapshot import QueueView, Snapshot


class QueuesNow(msgspec.Struct, frozen=True):
    count: int
    items: list[Snapshot]
    """By URL server."""
    silent: dict[str, str]
    """URL servers that run but do not answer, with the reason."""


def queues_now(mgmt: OperatorCalls, settings: Settings) -> QueuesNow:
    """Raises NotKnown if no URL server runs."""
    return queues_of(mgmt.nodes(), settings)


def queues_of(nodes: Iterable[Node], settings: Settings) -> QueuesNow:
    """Of those among these nodes that run. Each is asked over its socket; raises NotKnown if there is none."""
    running = [node.address for node in nodes if node.type is NodeType.CRAWLER and is_up(node)]
    if not running:
        raise NotKnown("no URL server is running, so there are no queues")
    found, silent = list[Snapshot](), dict[str, str]()
    for address in running:
        try:
            found.append(ask_queues(settings, address))
        except (NoUrlServer, ValueError) as error:  # a node may have registered with any address
            silent[address] = str(error)
    return QueuesNow(len(found), found, silent)


def longest_queues(server: Snapshot, most: int) -> list[QueueView]:
    """Those in which most URLs wait, the longest first."""
    return nlargest(most, server.queues, key=lambda queue: (queue.waiting, len(queue.active)))

"""Pausing, resuming and stopping weft from anywhere, also from a process that is to stop itself: nobody waits."""

from __future__ import annotations

import msgspec

from weft.actions.nodes import ask_nodes
from weft.actions.stop import ask_to_stop
from weft.actions.stop_all import ask_all_to_stop
from weft.errors import NotKnown
from weft.home import Home
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Node, NodeState


class StopAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Who was asked to finish its work and end."""

    pid: int = 0
    """The process of this home; 0: it is not known, or other machines were asked."""
    command: str = ""
    nodes: list[str] = []
    """Addresses, where all machines were asked."""


def pause(mgmt: OperatorCalls, address: str | None = None) -> list[Node]:
    """Have the node at an address, or all that run, take no new work; returns them. Raises NotKnown."""
    return ask_nodes(mgmt, address, NodeState.PAUSED)


def resume(mgmt: OperatorCalls, address: str | None = None) -> list[Node]:
    """Have the node at an address, or all that run, carry on; returns them. Raises NotKnown."""
    return ask_nodes(mgmt, address, NodeState.ONLINE)


def stop(mgmt: OperatorCalls, home: Home, *, everywhere: bool = False) -> StopAsked:
    """Have whoever uses this home, or weft on all machines, finish its work and end; returns before it has.

    Raises NotKnown if nothing runs, HomeError if it is not ours to stop.
    """
    if everywhere:
        nodes = ask_all_to_stop(mgmt)
        if not nodes:
            raise NotKnown("nothing is running on any machine")
        return StopAsked(nodes=nodes)
    holder = ask_to_stop(home)
    if holder is None:
        raise NotKnown("nothing is running in this home")
    return StopAsked(pid=holder.pid, command=holder.command)

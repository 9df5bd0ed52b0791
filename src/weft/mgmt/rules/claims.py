"""Who gets which work, and how a claim is spread over web hosts."""

from __future__ import annotations

from collections.abc import Sequence

from weft.mgmt.values import NodeState


def wants_work(state: NodeState, asked: NodeState) -> bool:
    return state is NodeState.ONLINE and asked is NodeState.ONLINE


def fair_shares(waiting: Sequence[int], limit: int) -> list[int]:
    """How many links each host gives: one each in turn until `limit` is reached or none waits."""
    shares = [0] * len(waiting)
    left = limit
    hosts = list(range(len(waiting)))
    while left and hosts:
        for host in hosts[:left]:
            shares[host] += 1
        left -= min(left, len(hosts))
        hosts = [host for host in hosts if shares[host] < waiting[host]]
    return shares

"""Who gets which work: how a claim is spread over web hosts, and address slots over crawlers."""

from __future__ import annotations

from collections.abc import Sequence

from weft.mgmt.values import NodeId, NodeState
from weft.model.host import ADDRESS_SLOTS


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


def fair_quota(crawlers: Sequence[NodeId], me: NodeId) -> int:
    """How many address slots `me` should own; `crawlers` are all that live, in order of their ids."""
    if me not in crawlers:
        return 0
    whole, rest = divmod(ADDRESS_SLOTS, len(crawlers))
    return whole + (crawlers.index(me) < rest)


def divide_slots(
    owners: Sequence[NodeId | None], leaving: frozenset[int], me: NodeId, quota: int
) -> tuple[list[int], list[int]]:
    """Slots to take and slots to begin giving up, for the crawler `me` that owns all but `leaving` of its own."""
    mine = [slot for slot, owner in enumerate(owners) if owner == me and slot not in leaving]
    if len(mine) > quota:
        return [], mine[quota:]
    free = [slot for slot, owner in enumerate(owners) if owner is None]
    return free[: quota - len(mine)], []

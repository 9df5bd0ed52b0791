"""How a URL server is doing, in numbers: told with every heartbeat, for people and metrics."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from weft.urlserver.frontier import Frontier
from weft.urlserver.server_tally import ServerTally
from weft.urlserver.view.snapshot import Snapshot, waits_for

MOST_LOOKED_AT: Final = 2000
"""Queues whose wait is looked at, evenly chosen: each takes microseconds that no URL is sent in."""


def server_figures(frontier: Frontier, seen: Snapshot, tally: ServerTally, now: int) -> dict[str, Any]:
    registry = frontier.registry
    return {
        "hosts": seen.taken,
        "queued": seen.queued,
        "in_flight": sum(spider.urls for spider in seen.spiders),
        "spiders_away": {spider.address: spider.problem for spider in seen.spiders if spider.problem},
        "queues": seen.queue_count,
        "leftovers": seen.leftovers,
        "arriving": seen.arriving,
        "known_hosts": len(registry.hosts),
        "backing_off": len(registry.backing_off),
        "waiting": waiting_hosts(frontier, now),
        **tally.facts(),
    }


def waiting_hosts(frontier: Frontier, now: int, most: int = MOST_LOOKED_AT) -> dict[str, int]:
    """How many hosts with a queue wait for what; an estimate where there are more than `most` queues."""
    slots = frontier.registry.queues.slots
    step = -(-len(slots) // most) or 1
    found = Counter(waits_for(frontier, host, now)[0] for host in slots[::step] if host is not None)
    return {why: count * step for why, count in found.items()}

"""The memory twin's relations as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from weft.errors import MgmtError
from weft.mgmt.memory.state import HeldChunk, State
from weft.mgmt.relations import RELATIONS
from weft.mgmt.values import CrawlerTask, Node

Rows = Iterable[Sequence[object]]


def task_of(chunk: HeldChunk) -> str:
    """The task that a chunk is counted under."""
    if chunk.task is CrawlerTask.CRAWLING or chunk.is_offered:
        return chunk.task.value
    return chunk.built.value if chunk.built else "empty"


def rows_of(state: State, relation: str, nodes: Sequence[Node]) -> list[dict[str, object]]:
    if relation not in RELATIONS:
        raise MgmtError(f"there is no relation {relation!r}; expected one of: {', '.join(RELATIONS)}")
    columns = RELATIONS[relation]
    rows = [(node.address, node.type, node.state, node.health) for node in nodes] if relation == "host" else None
    numbered = enumerate(_READERS[relation](state) if rows is None else rows, 1)
    return [dict(zip(columns, (number, *row), strict=True)) for number, row in numbered]


def _links(state: State) -> Rows:
    return ((link.url, link.chunk_id, link.state.value) for link in state.links.values())


def _pending_hosts(state: State) -> Rows:
    waiting = state.waiting()
    return ((host, len(waiting.get(host, ())), state.web_hosts[host].ready_at) for host in sorted(state.web_hosts))


_READERS: Final[Mapping[str, Callable[[State], Rows]]] = {
    "link": _links,
    "chunk": lambda state: ((chunk,) for chunk in state.chunks),
    "crawler": lambda state: ((chunk.id, chunk.crawler, chunk.task.value) for chunk in state.chunks.values()),
    "index_builder": lambda state: (
        (id_, state.chunks[id_].builder, state.chunks[id_].built) for id_ in state.builders
    ),
    "index_server": lambda state: ((placed.row, placed.chunk_id, placed.server) for placed in state.placements),
    "site": lambda state: (
        (site.name, site.scope, site.is_excluded, site.seeds, site.settings.shown())
        for _, site in sorted(state.sites.items())
    ),
    "robots": lambda state: (
        (one.origin, one.status, len(one.body), one.fetched, one.expires) for _, one in sorted(state.robots.items())
    ),
    "address": lambda state: (msgspec.structs.astuple(one) for _, one in sorted(state.addresses.items())),
    "pending_host": _pending_hosts,
}

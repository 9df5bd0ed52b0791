"""Counts and listings of the memory twin, for people who look at the control plane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from weft.errors import MgmtError
from weft.mgmt.memory.index_servers import placement_state
from weft.mgmt.memory.state import MemoryChunk, MemoryState
from weft.mgmt.relations import RELATIONS, TASKS
from weft.mgmt.rules.clock_jumps import told_jump
from weft.mgmt.rules.results import ERROR_STATUS
from weft.mgmt.values import ArchivedRecord, Counts, CrawlerTask, LinkState, Node, NodeState, RestingHost, RestingHosts

Rows = Iterable[Sequence[object]]


def task_of(chunk: MemoryChunk) -> str:
    """The task that a chunk is counted under."""
    if chunk.task is CrawlerTask.CRAWLING or chunk.is_offered:
        return chunk.task.value
    return chunk.built.value if chunk.built else "empty"


def rows_of(state: MemoryState, relation: str, nodes: Sequence[Node], now: int) -> list[dict[str, object]]:
    if relation not in RELATIONS:
        raise MgmtError(f"there is no relation {relation!r}; expected one of: {', '.join(RELATIONS)}")
    columns = RELATIONS[relation]
    rows = _rows(state, relation, nodes, now)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _rows(state: MemoryState, relation: str, nodes: Sequence[Node], now: int) -> Rows:
    if relation == "host":  # some of them are forgotten
        return [(node.id, node.address, node.type, node.state, node.health) for node in nodes]
    rows = _pending_hosts(state, now) if relation == "pending_host" else _READERS[relation](state)
    return ((number, *row) for number, row in enumerate(rows, 1))


def counts_of(state: MemoryState, nodes: Sequence[Node], now: int) -> Counts:
    pages = [link for link in state.links.values() if not link.is_robots]
    errors = Counter(link.result.error for link in pages if link.state is LinkState.ERROR and link.result)
    statuses = Counter(
        link.result.status
        for link in pages
        if link.state is LinkState.CRAWLED and link.result and link.result.status >= ERROR_STATUS
    )
    late = [node.seen for node in nodes if node.holds and node.state is not NodeState.OFFLINE]
    states, tasks = Counter(link.state for link in pages), Counter(map(task_of, state.chunks.values()))
    return Counts(
        links={one.value: states[one] for one in LinkState},
        chunks={task: tasks[task] for task in TASKS},
        errors=dict(errors),
        statuses={str(status): number for status, number in statuses.items()},
        oldest_lease=max(late, default=None),
        clock_jump=told_jump(state.newest, state.jump, now),
    )


def archived_of(state: MemoryState, after: int, limit: int) -> list[ArchivedRecord]:
    links = sorted((link for link in state.links.values() if link.doc_id > after), key=lambda link: link.doc_id)
    positions = ((link.doc_id, link.result.position) for link in links if link.result)
    return [ArchivedRecord(doc_id, at.file, at.offset) for doc_id, at in positions if at is not None][:limit]


def resting_of(state: MemoryState, wait: int, most: int, now: int) -> RestingHosts:
    resting = [
        RestingHost(name, len(links), host.ready_at - now, host.reason_at(now))
        for name, links in state.waiting().items()
        if (host := state.web_hosts[name]).ready_at > now + wait
    ]
    resting.sort(key=lambda host: (-host.pending, host.web_host))
    return RestingHosts(sum(host.pending for host in resting), resting[:most])


def _links(state: MemoryState) -> Rows:
    return ((link.url, link.chunk_id, link.state.value) for link in state.links.values())


def _pending_hosts(state: MemoryState, now: int) -> Rows:
    waiting = state.waiting()
    hosts = sorted(state.web_hosts.items())
    return ((name, len(waiting.get(name, ())), host.ready_at, host.reason_at(now), host.rate) for name, host in hosts)


def _placements(state: MemoryState) -> Rows:
    for server, chunk in state.placements:
        node = state.nodes[server]
        yield node.row, chunk, node.address, placement_state(state.chunks[chunk], node)


_READERS: Final[Mapping[str, Callable[[MemoryState], Rows]]] = {
    "link": _links,
    "chunk": lambda state: ((chunk,) for chunk in state.chunks),
    "crawler": lambda state: ((chunk.id, chunk.crawler, chunk.task.value) for chunk in state.chunks.values()),
    "index_builder": lambda state: (
        (id_, state.chunks[id_].builder, state.chunks[id_].built) for id_ in state.builders
    ),
    "index_server": _placements,
    "site": lambda state: (
        (site.name, site.scope, site.is_excluded, site.seeds, site.settings.shown())
        for _, site in sorted(state.sites.items())
    ),
    "robots": lambda state: (
        (one.origin, one.status, len(one.body), one.fetched, one.expires) for _, one in sorted(state.robots.items())
    ),
    "address": lambda state: (msgspec.structs.astuple(one) for _, one in sorted(state.addresses.items())),
}

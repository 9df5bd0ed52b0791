"""From what a home knows to samples. Pure: whoever calls it has looked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.answers.disk import Disk
from weft.answers.growth import Growth
from weft.answers.nodes import WHAT, is_up, living_nodes, warnings
from weft.answers.objects import TotalsAnswer
from weft.answers.search_servers import search_server
from weft.answers.status import MgmtCare
from weft.metrics import home_catalogue as home
from weft.metrics.role_metrics import role_samples
from weft.metrics.samples import Metric, Sample
from weft.mgmt.values import Counts, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlFacts:
    """What the control plane knows."""

    counts: Counts
    nodes: Sequence[Node]
    resting: int
    """Links that wait for hosts that rest."""
    show_dead: float
    """Seconds that a node is told of after its last heartbeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFacts:
    version: str
    control: ControlFacts | None
    """None: the control plane does not answer."""
    totals: TotalsAnswer | None
    """None: the index cannot be read."""
    disk: Disk
    growth: Growth
    care: MgmtCare


def home_samples(facts: HomeFacts) -> Iterator[Sample]:
    yield Sample(home.BUILD, (facts.version,), 1)
    yield _one(home.MGMT_UP, int(facts.control is not None))
    yield _one(home.STORE_UP, int(facts.totals is not None))
    if facts.control is not None:
        yield from _control_samples(facts.control)
    yield _one(home.DISK_FREE, facts.disk.free)
    yield _one(home.DISK_LEAST, facts.disk.least)
    parts = facts.growth.parts
    yield from _table(home.HOME_BYTES, {part: about.bytes for part, about in parts.items()})
    grows = {part: about.per_day for part, about in parts.items() if about.per_day is not None}
    yield from _table(home.HOME_GROWTH, grows)
    yield from _table(home.HOME_LIMIT, {part: about.limit for part, about in parts.items() if about.limit})
    yield _one(home.COPY_TIME, facts.care.copied or 0)
    yield _one(home.DAMAGED, int(bool(facts.care.damage)))
    if facts.totals is not None:
        yield from _index_samples(facts.totals)


def _control_samples(control: ControlFacts) -> Iterator[Sample]:
    counts, nodes = control.counts, living_nodes(control.nodes, control.show_dead)
    yield from _table(home.LINKS, counts.links)
    yield from _table(home.LINK_ERRORS, counts.errors)
    yield from _table(home.LINK_STATUSES, counts.statuses)
    yield _one(home.LINKS_RESTING, control.resting)
    yield from _table(home.CHUNKS, counts.chunks)
    yield _one(home.OLDEST_LEASE, (counts.oldest_lease or 0) / 1000)
    yield _one(home.CLOCK_JUMP, 0 if counts.clock_jump is None else counts.clock_jump.by / 1000)
    yield _one(home.WARNINGS, sum(1 for _ in warnings(nodes)))
    up = Counter(WHAT[node.type] for node in nodes if is_up(node) and node.type in WHAT)
    yield from _table(home.NODES_UP, {role: up[role] for role in WHAT.values()})
    for node in nodes:
        yield from _node_samples(node)
    yield from _table(home.SHARDS_MISSING, missing_shards(nodes))
    for node in filter(is_up, nodes):
        # What others told is old: whoever is gone counts nothing any more.
        yield from role_samples(node.type, node.address, node.figures)


def _node_samples(node: Node) -> Iterator[Sample]:
    role = WHAT.get(node.type, str(node.type))
    named = (role, node.address)
    yield Sample(home.NODE_UP, (*named, node.machine), int(is_up(node)))
    about = (node.machine, node.version, str(node.state), str(node.health))
    yield Sample(home.NODE_INFO, (*named, *about), 1)
    yield Sample(home.NODE_HEARTBEAT, named, node.seen / 1000)
    yield Sample(home.NODE_WORK, named, node.holds)
    if node.skew is not None:
        yield Sample(home.NODE_SKEW, named, node.skew / 1000)


def _index_samples(totals: TotalsAnswer) -> Iterator[Sample]:
    yield _one(home.SEQ, totals.seq)
    yield _one(home.PAGES, totals.pages)
    yield _one(home.DOMAINS, totals.domains)
    yield _one(home.REFERENCES, totals.references)


def missing_shards(nodes: Iterable[Node]) -> dict[str, int]:
    """By row that has a running index server: the shards that none of them answers for."""
    served: dict[str, set[int]] = {}
    counts: dict[str, int] = {}
    for node in nodes:
        server = search_server(node) if is_up(node) else None
        if server is not None:
            row = str(server.row)
            served.setdefault(row, set()).update(server.shards)
            counts[row] = max(counts.get(row, 0), server.count)
    return {row: count - len(served[row]) for row, count in sorted(counts.items())}


def _one(metric: Metric, value: float) -> Sample:
    return Sample(metric, (), value)


def _table(metric: Metric, values: Mapping[str, float]) -> Iterator[Sample]:
    for name, value in sorted({**dict.fromkeys(metric.known, 0), **values}.items()):
        yield Sample(metric, (str(name),), value)

"""Rounds of the real link index, embedded and in a cluster: what a link costs, and what is sent for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from cluster_places import Place, used_by
from linkindex_contestants import load_page
from weft.clock import SystemClock
from weft.config.sections import IndexSettings
from weft.dispatcher.domain_work import listed_cells
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.pipeline import LinkIndex
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.values import NodeType
from weft.roles.store_registry import MgmtRegistry
from weft.store.api import Store
from weft.store.cassandra.address import parse_address
from weft.store.cassandra.cell_session import Request, Row
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.schema import make_keyspace
from weft.store.rocksdb import RocksStore
from workload import LINKS_PER_PAGE, Web

WEB = 20_000
"""Pages of the web, of which the first ones are loaded: most targets are new at first, as in a crawl."""
_LIFETIME = 30 * 86_400


class Sizes(NamedTuple):
    before: int
    """Pages that are loaded before the clock runs."""
    pages: int
    a_round: int

    @property
    def links(self) -> int:
        return self.pages * LINKS_PER_PAGE


class Sent(NamedTuple):
    """What a session and a registry were given."""

    statements: int = 0
    partitions: int = 0
    """Groups, each for one partition and one trip."""
    bytes: int = 0
    """Of keys and values."""
    reads: int = 0
    registered: int = 0
    writing: float = 0.0
    reading: float = 0.0
    registering: float = 0.0

    def since(self, before: Sent) -> Sent:
        return Sent(**{name: getattr(self, name) - getattr(before, name) for name in self._fields})


class Result(NamedTuple):
    sizes: Sizes
    wall: float
    client: float
    cassandra: float
    postgresql: float
    wal: float
    sent: Sent
    disk: int = 0
    partitions: dict[str, int] | None = None
    """The largest one of each table."""

    @property
    def cpu(self) -> float:
        return self.client + self.cassandra + self.postgresql


class CountingSession(ClusterSession):
    sent = Sent()

    def write(self, groups: Iterable[Sequence[Request]], may_send: Callable[[], None]) -> None:
        began = time.perf_counter()
        super().write(self._counted(groups), may_send)
        self.sent = self.sent._replace(writing=self.sent.writing + time.perf_counter() - began)

    def _counted(self, groups: Iterable[Sequence[Request]]) -> Iterator[Sequence[Request]]:
        statements = partitions = size = 0
        for group in groups:
            partitions += 1
            statements += len(group)
            size += sum(_size(request) for request in group)
            yield group
        sent = self.sent
        self.sent = sent._replace(
            statements=sent.statements + statements, partitions=sent.partitions + partitions, bytes=sent.bytes + size
        )

    def read(self, requests: Sequence[Request]) -> list[list[Row]]:
        began = time.perf_counter()
        found = super().read(requests)
        took = time.perf_counter() - began
        self.sent = self.sent._replace(reads=self.sent.reads + len(requests), reading=self.sent.reading + took)
        return found


class CountingRegistry(MgmtRegistry):
    sent = Sent()

    def register(self, epoch: int, before: int, seq: int, batch: bytes) -> None:
        began = time.perf_counter()
        super().register(epoch, before, seq, batch)
        took = time.perf_counter() - began
        sent = self.sent
        self.sent = sent._replace(registered=sent.registered + len(batch), registering=sent.registering + took)


def _size(request: Request) -> int:
    return sum(len(value) if isinstance(value, bytes) else 8 for value in request.values if value is not None)


class Opened(NamedTuple):
    """A store, and what its parts were given."""

    store: Store
    session: CountingSession | None = None
    registry: CountingRegistry | None = None
    where: str = ""
    """For whoever reads it from another process: a path, or the URL of a cluster."""

    def sent(self) -> Sent:
        if self.session is None or self.registry is None:
            return Sent()
        told = self.registry.sent
        return self.session.sent._replace(registered=told.registered, registering=told.registering)


@contextmanager
def opened(place: Place) -> Iterator[Opened]:
    """A new index. A keyspace goes away at the end."""
    if not place.is_cluster:
        path = place.directory / f"store-{time.monotonic_ns()}"
        with RocksStore(path) as embedded:
            yield Opened(embedded, where=str(path))
        return
    url = place.new_store_url()
    session = CountingSession(parse_address(url), patience=60.0)
    mgmt = PostgresMgmt(place.new_mgmt_url())
    try:
        keyspace, _ = make_keyspace(session, place.replication, SystemClock().now())
        owner = mgmt.register(NodeType.INDEX_BUILDER, "index@bench")
        registry = CountingRegistry(mgmt, owner)
        store = RegisteredStore(session, keyspace, _LIFETIME).own(registry, listed_cells)
        yield Opened(store, session, registry, url)
    finally:
        session.run(f"DROP KEYSPACE IF EXISTS {session.address.keyspace}")
        session.close()
        mgmt.close()


def rounds(sizes: Sizes) -> Iterator[list[LoadedPage]]:
    """Of as many pages as wanted, made ready before anything is timed."""
    pages = (each for batch in Web(WEB).batches() for each in batch)
    ready = [load_page(uri, targets, 1000) for uri, targets in islice(pages, sizes.before + sizes.pages)]
    for first in range(0, len(ready), sizes.a_round):
        yield ready[first : first + sizes.a_round]


def play(place: Place, sizes: Sizes, with_disk: bool = False) -> Result:
    """Load the first pages, then time the rest."""
    with opened(place) as index:
        linkindex = LinkIndex(index.store, IndexSettings())
        waiting = list(rounds(sizes))
        for first in waiting[: sizes.before // sizes.a_round]:
            linkindex.apply(first)
        before = index.sent()
        used = used_by(time.perf_counter, time.process_time, place.cassandra_cpu, place.postgresql_cpu, place.wal_bytes)
        for each in waiting[sizes.before // sizes.a_round :]:
            linkindex.apply(each)
        wall, client, cassandra, postgresql, wal = used()
        sent = index.sent().since(before)
        result = Result(sizes, wall, client, cassandra, postgresql, wal, sent)
        if with_disk and index.session:
            keyspace = index.session.address.keyspace
            result = result._replace(disk=place.disk(keyspace), partitions=place.largest_partitions(keyspace))
    return result

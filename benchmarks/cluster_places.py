"""What `weft bench cluster` compares: an embedded index, and clusters that it starts, with the CPU of all processes."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from tools.cassandra.addresses import free_block
from tools.cassandra.cluster import Cluster
from tools.cassandra.shape import Shape

_TICK = os.sysconf("SC_CLK_TCK")
_HEAP = 512
_PARTITION = re.compile(r"Table: (\w+)\n(?:(?!\t\tTable: ).*\n)*?\t\tCompacted partition maximum bytes: (\d+)")


@dataclass
class Place:
    """Where an index is kept. A cluster has one node or more, and PostgreSQL beside it."""

    name: str
    directory: Path
    postgresql: str = ""
    cluster: Cluster | None = None
    _made: int = field(default=0)

    @property
    def is_cluster(self) -> bool:
        return self.cluster is not None

    @property
    def replication(self) -> int:
        assert self.cluster is not None
        return self.cluster.shape.nodes

    def new_store_url(self) -> str:
        """Of a keyspace that is not there yet."""
        assert self.cluster is not None
        self._made += 1
        return f"cassandra://{','.join(self.cluster.hosts)}/bench_{os.getpid()}_{self._made}"

    def new_mgmt_url(self) -> str:
        """Of a schema of its own, empty."""
        name = f"bench_{os.getpid()}_{time.monotonic_ns()}"
        with psycopg.connect(self.postgresql, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.postgresql}&options=-csearch_path%3D{name}"

    def cassandra_cpu(self) -> float:
        """Seconds that all nodes have used."""
        return sum(_cpu(node.pid) for node in self.cluster.nodes) if self.cluster else 0.0

    def postgresql_cpu(self) -> float:
        """Seconds that PostgreSQL and its processes have used, those that ended included."""
        if not self.postgresql:
            return 0.0
        directory = parse_qs(urlsplit(self.postgresql).query)["host"][0]
        head = int(Path(directory, "postmaster.pid").read_text().split()[0])
        return _cpu(head, with_ended=True) + sum(_cpu(child) for child in _children(head))

    def wal_bytes(self) -> int:
        """What PostgreSQL has written to its log since it was made."""
        if not self.postgresql:
            return 0
        with psycopg.connect(self.postgresql) as connection:
            row = connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')").fetchone()
        return int(row[0]) if row else 0

    def disk(self, keyspace: str) -> int:
        """Bytes of a keyspace on all nodes, after they wrote what was in memory."""
        assert self.cluster is not None
        for node in self.cluster.nodes:
            node.nodetool("flush", keyspace)
        places = [node.place / "data" / keyspace for node in self.cluster.nodes]
        return sum(file.stat().st_size for place in places for file in place.rglob("*") if file.is_file())

    def largest_partitions(self, keyspace: str) -> dict[str, int]:
        """Bytes of the largest partition of each table on the first node, before compression; after `disk`."""
        assert self.cluster is not None
        told = self.cluster.node(1).nodetool("tablestats", keyspace)
        return {name: int(size) for name, size in _PARTITION.findall(told)}


@contextmanager
def clusters(nodes: int, postgresql: str) -> Iterator[Place]:
    """A cluster of its own; it ends with this process, however that ends."""
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-cassandra-"))
    cluster = Cluster(directory, Shape(nodes=nodes, heap=_HEAP, first=free_block(nodes)), owner=os.getpid())
    try:
        cluster.start()
        name = f"{nodes} node{'s' if nodes > 1 else ''}, {nodes} cop{'ies' if nodes > 1 else 'y'}"
        yield Place(name, directory, postgresql, cluster)
    finally:
        cluster.stop(patience=0)
        shutil.rmtree(directory, ignore_errors=True)


def used_by(*meters: Callable[[], float]) -> Callable[[], list[float]]:
    """How much each meter has risen since this call."""
    began = [meter() for meter in meters]
    return lambda: [meter() - before for meter, before in zip(meters, began, strict=True)]


def _cpu(pid: int, *, with_ended: bool = False) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(int(each) for each in fields[11 : 15 if with_ended else 13]) / _TICK


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []

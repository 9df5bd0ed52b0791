"""A real Cassandra for tests: one node that all of them share, or three that a test may break."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tools.cassandra.addresses import free_block
from tools.cassandra.cluster import Cluster
from tools.cassandra.problems import NoCassandraError
from tools.cassandra.shape import Shape


@dataclass(frozen=True)
class Found:
    """A running Cassandra that tests share, or the reason why there is none."""

    hosts: tuple[str, ...] = ()
    reason: str = ""
    directory: str = ""
    """Empty: it is not ours."""


@pytest.fixture(scope="session")
def found_cassandra(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """One node for this test run."""
    given = os.environ.get("WEFT_TEST_CASSANDRA", "")
    if given:
        return Found(tuple(host.strip() for host in given.split(",") if host.strip()))
    return _shared(tmp_path_factory, "node", Shape())


@pytest.fixture(scope="session")
def found_nodes(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Three nodes for this test run."""
    return _shared(tmp_path_factory, "nodes", Shape(nodes=3, is_brief=True))


@pytest.fixture
def cassandra_hosts(request: pytest.FixtureRequest, found_cassandra: Found) -> tuple[str, ...]:
    """Where a Cassandra answers that tests share: use a keyspace of your own."""
    return found_cassandra.hosts or _give_up(request, found_cassandra.reason)


@pytest.fixture
def three_nodes(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for one test, which may kill, pause and restart its nodes."""
    with own_cluster(request, Shape(nodes=3)) as cluster:
        yield cluster


@pytest.fixture
def shared_nodes(request: pytest.FixtureRequest, found_nodes: Found) -> Cluster:
    """Three nodes that tests share: use a keyspace of your own, and leave all of them running."""
    cluster = Cluster.recorded(Path(found_nodes.directory)) if found_nodes.directory else None
    return cluster or _give_up(request, found_nodes.reason)


@contextmanager
def own_cluster(request: pytest.FixtureRequest, shape: Shape, first: str = "") -> Iterator[Cluster]:
    """A cluster of this shape, at addresses of its own (from `first` on), stopped and removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="weft-cassandra-"))
    try:
        cluster = Cluster(directory, replace(shape, first=first or free_block(shape.nodes)), owner=os.getpid())
        try:
            cluster.start()
        except NoCassandraError as error:
            _give_up(request, str(error))
        try:
            yield cluster
        finally:
            cluster.stop(patience=0)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def connected(hosts: Sequence[str], login: Any = None) -> Iterator[Any]:
    """A session of the driver, at QUORUM."""
    from cassandra import ConsistencyLevel, cluster, policies

    near = policies.TokenAwarePolicy(policies.DCAwareRoundRobinPolicy())
    profile = cluster.ExecutionProfile(near, consistency_level=ConsistencyLevel.QUORUM, request_timeout=60)
    profiles = {cluster.EXEC_PROFILE_DEFAULT: profile}
    driver = cluster.Cluster(list(hosts), execution_profiles=profiles, auth_provider=login, protocol_version=5)
    try:
        yield driver.connect()
    finally:
        driver.shutdown()


def run_as(hosts: Sequence[str], user: str, password: str, statements: Iterable[str]) -> None:
    """In a cluster with passwords. Its first user is there some ten seconds after its first node."""
    from cassandra import auth, cluster

    until = time.monotonic() + 90
    while True:
        try:
            with connected(hosts, auth.PlainTextAuthProvider(user, password)) as session:
                for statement in statements:
                    session.execute(statement)
            return
        except cluster.NoHostAvailable as error:
            if "Bad credentials" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(1)


def _shared(factory: pytest.TempPathFactory, name: str, shape: Shape) -> Found:
    """Started by the first test that asks, in whatever process. It ends with the run."""
    base = factory.getbasetemp()
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    place, owner = (base.parent, os.getppid()) if is_worker else (base, os.getpid())
    with (place / f"cassandra-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        state = place / f"cassandra-{name}.json"
        if not state.exists():
            state.write_text(json.dumps(_started(shape, owner)))
        found = json.loads(state.read_text())
    return Found(tuple(found["hosts"]), found["reason"], found["directory"])


def _started(shape: Shape, owner: int) -> dict[str, object]:
    directory = Path(tempfile.mkdtemp(prefix="weft-cassandra-"))
    try:
        cluster = Cluster(directory, replace(shape, first=free_block(shape.nodes)), owner)
        cluster.start()
    except NoCassandraError as error:
        shutil.rmtree(directory, ignore_errors=True)
        return {"hosts": [], "reason": str(error), "directory": ""}
    return {"hosts": cluster.hosts, "reason": "", "directory": str(directory)}


def _give_up(request: pytest.FixtureRequest, reason: str) -> Any:
    """Long tests fail: nobody runs those without wanting an answer."""
    if request.node.get_closest_marker("long"):
        pytest.fail(reason)
    pytest.skip(reason)

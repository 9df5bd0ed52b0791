"""A real Cassandra for tests: one node that all of them share, or three that a test may break."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
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
    """The hosts of a running Cassandra, or the reason why there is none."""

    hosts: tuple[str, ...] = ()
    reason: str = ""


@pytest.fixture(scope="session")
def found_cassandra(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The one of this test run: started by the first test that asks, in whatever process. It ends with the run."""
    given = os.environ.get("WEFT_TEST_CASSANDRA", "")
    if given:
        return Found(tuple(host.strip() for host in given.split(",") if host.strip()))
    base = tmp_path_factory.getbasetemp()
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    return _shared(base.parent if is_worker else base, os.getppid() if is_worker else os.getpid())


@pytest.fixture
def cassandra_hosts(request: pytest.FixtureRequest, found_cassandra: Found) -> tuple[str, ...]:
    """Where a Cassandra answers that tests share: use a keyspace of your own."""
    return found_cassandra.hosts or _give_up(request, found_cassandra.reason)


@pytest.fixture
def three_nodes(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for one test, which may kill, pause and restart its nodes."""
    with own_cluster(request, Shape(nodes=3)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def module_nodes(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for the tests of one file: use a keyspace of your own, and leave all three nodes running."""
    with own_cluster(request, Shape(nodes=3, is_brief=True)) as cluster:
        yield cluster


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
def connected(hosts: tuple[str, ...] | list[str]) -> Iterator[Any]:
    """A session of the driver, at QUORUM."""
    from cassandra import ConsistencyLevel, cluster, policies

    near = policies.TokenAwarePolicy(policies.DCAwareRoundRobinPolicy())
    profile = cluster.ExecutionProfile(near, consistency_level=ConsistencyLevel.QUORUM, request_timeout=60)
    profiles = {cluster.EXEC_PROFILE_DEFAULT: profile}
    driver = cluster.Cluster(list(hosts), execution_profiles=profiles, protocol_version=5)
    try:
        yield driver.connect()
    finally:
        driver.shutdown()


def _shared(place: Path, owner: int) -> Found:
    with (place / "cassandra.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        state = place / "cassandra.json"
        if not state.exists():
            state.write_text(json.dumps(_started(owner)))
        found = json.loads(state.read_text())
    return Found(tuple(found["hosts"]), found["reason"])


def _started(owner: int) -> dict[str, object]:
    directory = Path(tempfile.mkdtemp(prefix="weft-cassandra-"))
    try:
        cluster = Cluster(directory, Shape(first=free_block(1)), owner)
        cluster.start()
    except NoCassandraError as error:
        shutil.rmtree(directory, ignore_errors=True)
        return {"hosts": [], "reason": str(error)}
    return {"hosts": cluster.hosts, "reason": ""}


def _give_up(request: pytest.FixtureRequest, reason: str) -> Any:
    """Long tests fail: nobody runs those without wanting an answer."""
    if request.node.get_closest_marker("long"):
        pytest.fail(reason)
    pytest.skip(reason)

"""`make cassandra` and the processes below it, with a program in the place of Java."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.fake_java import make_home
from tools.cassandra.__main__ import main
from tools.cassandra.addresses import free_block
from tools.cassandra.cluster import Cluster
from tools.cassandra.installing import jars
from tools.cassandra.problems import NoCassandraError
from tools.cassandra.processes import is_running
from tools.cassandra.shape import Shape, node_yaml

_OWNER = """
import os, sys, time
from pathlib import Path
from tools.cassandra.cluster import Cluster
from tools.cassandra.shape import Shape
cluster = Cluster(Path(sys.argv[1]), Shape(nodes=2, first=sys.argv[2]), owner=os.getpid())
cluster.start()
print(*(node.pid for node in cluster.nodes), flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(make_home(tmp_path)))
    jars().mkdir(parents=True)
    (jars() / ".ready").touch()


@pytest.fixture
def directory(tmp_path: Path):
    place = tmp_path / "cluster"
    yield place
    cluster = Cluster.recorded(place)
    if cluster is not None:
        cluster.stop(patience=0)


def _run(directory: Path, *arguments: str) -> int:
    return main([*arguments, "--directory", str(directory)])


def test_it_starts_once_and_stops_without_leaving_a_process(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = free_block(3)
    assert _run(directory, "start", "--first", first) == 0
    assert f"Hosts: {first} (port 9042)" in capsys.readouterr().out
    (node,) = Cluster.recorded(directory).nodes
    pids = [int(pid) for pid in (node.place / "pid").read_text().split()]
    assert all(is_running(pid) for pid in pids)

    assert _run(directory, "start", "--first", first) == 0
    assert "runs already" in capsys.readouterr().out
    assert _run(directory, "start", "--first", first, "--nodes", "3") == 2
    assert "Cassandra runs already with 1 node, not 3." in capsys.readouterr().err

    assert _run(directory, "stop") == 0
    assert not any(is_running(pid) for pid in pids)
    assert _run(directory, "stop") == 0
    assert "does not run" in capsys.readouterr().out


def test_data_goes_at_the_next_start_unless_it_is_kept(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, data = free_block(3), directory / "node1/data"
    assert _run(directory, "start", "--first", first) == 0
    data.mkdir()
    assert _run(directory, "stop") == 0
    assert _run(directory, "start", "--first", first, "--keep", "--nodes", "3") == 2
    assert "The data to keep is of 1 node; expected NODES=1" in capsys.readouterr().err
    assert _run(directory, "start", "--first", first, "--keep") == 0
    assert data.exists()
    assert _run(directory, "stop") == 0
    assert _run(directory, "start", "--first", first) == 0
    assert not data.exists()


@pytest.mark.parametrize(
    ("variables", "arguments", "sentence"),
    [
        ({}, ["--nodes", "2"], "NODES is 2; expected 1 or 3."),
        ({}, ["--first", "192.0.2.1"], "192.0.2.1 is not in 127.0.0.0/8; expected loopback addresses"),
        ({}, ["--first", "here"], "here is no address; expected an IPv4 address"),
        ({}, ["--heap", "99"], "99 MB of heap are too few for a node; expected 200 or more."),
        ({}, ["--heap", "99000000"], "MB of memory are free; expected 99000500 MB for the nodes."),
        ({"FAKE_JAVA_VERSION": "11.0.2"}, [], "is Java 11; Cassandra needs Java 17"),
        ({"FAKE_JAVA_VERSION": "1.8.0"}, [], "is Java 8; Cassandra needs Java 17"),
        ({"JAVA_HOME": "/nowhere"}, [], "/nowhere/bin/java does not run"),
        ({"JAVA_HOME": "", "PATH": "/nowhere"}, [], "There is no java in PATH; Cassandra needs Java 17"),
        ({"FAKE_JAVA_FAILS": "no luck today"}, [], "ended while it started: no luck today"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_runs(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    arguments: list[str],
    sentence: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _run(directory, "start", "--first", free_block(3), *arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1
    cluster = Cluster.recorded(directory)
    assert cluster is None or not any(node.is_running for node in cluster.nodes)


def test_a_port_of_somebody_else_is_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = free_block(1)
    with socket.create_server((first, 9042)):
        assert _run(directory, "start", "--first", first) == 2
    assert f"Port 9042 of {first} is taken by another program" in capsys.readouterr().err


def test_without_maven_or_its_answer_nothing_is_installed(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (jars() / ".ready").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _run(directory, "start", "--first", free_block(1)) == 2
    assert "There is no mvn in PATH; expected Maven 3" in capsys.readouterr().err

    (tmp_path / "mvn").write_text("#!/bin/sh\necho '[ERROR] the network is unreachable'\nexit 1\n")
    (tmp_path / "mvn").chmod(0o755)
    assert _run(directory, "start", "--first", free_block(1)) == 2
    said = capsys.readouterr().err
    assert "expected that Maven Central, or a mirror in Maven's settings, answers. Maven says: the network is" in said
    assert not jars().exists()


def test_it_is_fetched_without_being_started(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(directory, "fetch") == 0
    assert not directory.exists()
    monkeypatch.setenv("FAKE_JAVA_VERSION", "11.0.2")
    assert _run(directory, "fetch") == 2


def test_a_node_that_does_not_stop_is_killed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_JAVA_IS_STUBBORN", "1")
    cluster = Cluster(directory, Shape(first=free_block(1)))
    cluster.start()
    cluster.stop(patience=0.5)
    assert not cluster.node(1).is_running


def test_single_nodes_are_killed_paused_and_started_again(directory: Path) -> None:
    cluster = Cluster(directory, Shape(nodes=2, first=free_block(2)))
    cluster.start()
    first, second = cluster.nodes
    first.kill()
    assert not first.is_running
    assert second.is_running
    second.pause()
    first.start()  # does not wait for the one that is paused
    second.resume()
    cluster.stop()
    assert not first.is_running
    assert not second.is_running


def test_nodes_and_files_go_when_their_owner_is_killed(directory: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(directory), free_block(2)], stdout=subprocess.PIPE, text=True
    )
    nodes = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(nodes) == 2
    owner.kill()  # and not reaped yet
    _wait_until_gone(nodes, directory)
    owner.wait()
    owner.stdout.close()


def test_a_node_ends_with_its_keeper(directory: Path) -> None:
    cluster = Cluster(directory, Shape(first=free_block(1)))
    cluster.start()
    node, keeper = map(int, (directory / "node1/pid").read_text().split())
    os.kill(keeper, signal.SIGKILL)
    _wait_until_gone([node])


def test_settings_replace_blocks_of_the_yaml_and_none_leaves_them_out(tmp_path: Path) -> None:
    memtable = {"configurations": ["none"]}
    settings = {"memtable": memtable, "commitlog_sync_period": None, "tombstone_warn_threshold": 7}
    yaml = node_yaml(Shape(settings=settings), 1, tmp_path)
    assert "\nmemtable: " + json.dumps(memtable) in yaml
    assert "TrieMemtable" not in yaml
    assert "\nmemtable_heap_space: 64MiB\n" in yaml
    assert "commitlog_sync_period" not in yaml
    assert "\ntombstone_warn_threshold: 7\n" in yaml


def test_a_cluster_has_one_to_nine_nodes() -> None:
    with pytest.raises(NoCassandraError, match="expected 1 to 9"):
        Shape(nodes=10)


def _wait_until_gone(pids: list[int], directory: Path | None = None) -> None:
    until = time.monotonic() + 30
    while any(is_running(pid) for pid in pids) or (directory is not None and directory.exists()):
        assert time.monotonic() < until
        time.sleep(0.05)

"""`make cassandra` and `make cassandra-stop`; `make test` fetches it while its first tests run."""

from __future__ import annotations

import argparse
import fcntl
import sys
import time
from pathlib import Path

from tools.cassandra.cluster import Cluster
from tools.cassandra.installing import cache, install, version
from tools.cassandra.java import find_java
from tools.cassandra.problems import NoCassandraError
from tools.cassandra.shape import Shape

_STOP = "make cassandra-stop"


def main(arguments: list[str]) -> int:
    wanted = _parser().parse_args(arguments)
    if wanted.command == "fetch":
        return _fetch()
    directory = wanted.directory or cache() / "cassandra-cluster"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two at once
            if wanted.command == "stop":
                _stop(directory)
            else:
                shape = Shape(nodes=_nodes(wanted.nodes), heap=wanted.heap, first=wanted.first)
                _start(directory, shape, wanted.keep)
    except NoCassandraError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{directory} cannot be used ({error.strerror}); expected to write there.", file=sys.stderr)
        return 2
    return 0


def _fetch() -> int:
    """So that it is there when somebody wants it; whoever does tells what is wrong."""
    try:
        find_java()
        install()
    except NoCassandraError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cassandra", description="A Cassandra for developers, on this machine.")
    parser.add_argument("command", choices=["start", "stop", "fetch"])
    parser.add_argument("--nodes", default="1")
    parser.add_argument("--heap", type=int, default=Shape.heap, help="MB, of each node")
    parser.add_argument("--first", default=Shape.first, help="the address of the first node")
    parser.add_argument("--directory", type=Path, help="of data, logs and pids")
    parser.add_argument("--keep", action="store_true", help="the data of the last time")
    return parser


def _nodes(text: str) -> int:
    if text not in {"1", "3"}:
        raise NoCassandraError(f"NODES is {text}; expected 1 or 3.")
    return int(text)


def _start(directory: Path, shape: Shape, keep: bool) -> None:
    last = Cluster.recorded(directory)
    if last is not None and any(node.is_running for node in last.nodes):
        _require_same(last, shape)
        _tell(last, "runs already")
        return
    if keep and last is not None and last.shape.nodes != shape.nodes:
        raise NoCassandraError(
            f"The data to keep is of {_count(last)}; expected NODES={last.shape.nodes}, or no KEEP=1."
        )
    cluster = Cluster(directory, shape)
    find_java()
    install(print)
    begun = time.monotonic()
    cluster.start(keep)
    _tell(cluster, f"is up after {time.monotonic() - begun:.0f} s")


def _require_same(last: Cluster, shape: Shape) -> None:
    running = sum(node.is_running for node in last.nodes)
    if running < last.shape.nodes:
        raise NoCassandraError(f"Only {running} of {_count(last)} run; expected all. Stop the rest first: {_STOP}")
    if last.shape.nodes != shape.nodes:
        raise NoCassandraError(f"Cassandra runs already with {_count(last)}, not {shape.nodes}. Stop it first: {_STOP}")


def _tell(cluster: Cluster, state: str) -> None:
    print(f"Cassandra {version()} {state}.")
    print(f"Hosts: {', '.join(cluster.hosts)} (port {cluster.port})")
    for log in cluster.logs:
        print(f"Log:   {log}")
    print(f"Stop:  {_STOP}")


def _stop(directory: Path) -> None:
    last = Cluster.recorded(directory)
    running = [node for node in last.nodes if node.is_running] if last is not None else []
    if last is None or not running:
        print("Cassandra does not run.")
        return
    last.stop()
    print(f"Cassandra is stopped: {len(running)} of {_count(last)}.")


def _count(cluster: Cluster) -> str:
    return "1 node" if cluster.shape.nodes == 1 else f"{cluster.shape.nodes} nodes"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

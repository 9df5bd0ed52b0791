"""A Cassandra cluster on this machine, in a directory of its own."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from tools.cassandra.addresses import NATIVE_PORT, require_free
from tools.cassandra.installing import install
from tools.cassandra.java import find_java
from tools.cassandra.node import Launch, Node
from tools.cassandra.problems import NoCassandraError
from tools.cassandra.shape import Shape, node_yaml


class Cluster:
    """The nodes of `shape`. With an `owner`, a pid, they end and the directory goes when that process ended."""

    port = NATIVE_PORT

    def __init__(self, directory: Path, shape: Shape, owner: int = 0) -> None:
        self.directory = directory.absolute()
        self.shape = shape
        self.hosts = shape.hosts()
        self._owner = owner
        self._nodes = [Node(self.directory / f"node{i}", host) for i, host in enumerate(self.hosts, 1)]
        for node in self._nodes:
            node.peers = [peer for peer in self._nodes if peer is not node]

    @staticmethod
    def recorded(directory: Path) -> Cluster | None:
        """The cluster that was last started in this directory."""
        try:
            found = json.loads((directory / "cluster.json").read_text())
        except OSError:
            return None
        return Cluster(directory, Shape(nodes=found["nodes"], heap=found["heap"], first=found["first"]))

    @property
    def nodes(self) -> list[Node]:
        return list(self._nodes)

    @property
    def logs(self) -> list[Path]:
        return [node.log for node in self._nodes]

    def node(self, number: int) -> Node:
        """The first one is node 1."""
        return self._nodes[number - 1]

    def start(self, keep: bool = False) -> None:
        """Returns when all nodes see each other. Data is empty unless `keep`. After an error no node runs."""
        remove = self.directory if self._owner else None
        launch = Launch(find_java(), install(), self.shape.heap, self._owner, remove, self.shape.is_brief)
        _require_memory(self.shape.memory())
        require_free(self.hosts)
        self._write(keep)
        try:
            for node in self._nodes:
                node.launch(launch)
            for node in self._nodes:
                node.wait_until_up()
        except BaseException:
            self.stop(patience=0)
            raise

    def add(self) -> Node:
        """One more node, which takes over its share of the cells before it is up. The first ones must run."""
        number, launched = len(self._nodes) + 1, self._nodes[0].launched
        shape = replace(self.shape, nodes=number, seeds=tuple(self.hosts))
        node = Node(self.directory / f"node{number}", shape.hosts()[-1])
        for peer in self._nodes:
            peer.peers.append(node)
        node.peers = list(self._nodes)
        self._nodes.append(node)
        node.place.mkdir(parents=True)
        (node.place / "cassandra.yaml").write_text(node_yaml(shape, number, node.place))
        node.launch(launched)
        node.wait_until_up()
        return node

    def stop(self, patience: float = 60.0) -> None:
        """Every node that runs."""
        for node in self._nodes:
            node.ask_to_stop()
        for node in self._nodes:
            node.stop(patience)

    def clear(self) -> None:
        """Remove its files. No node may run."""
        for place in self.directory.glob("node[1-9]"):
            shutil.rmtree(place, ignore_errors=True)
        (self.directory / "cluster.json").unlink(missing_ok=True)

    def _write(self, keep: bool) -> None:
        if not keep:
            self.clear()
        shape = {"nodes": self.shape.nodes, "heap": self.shape.heap, "first": self.shape.first}
        for number, node in enumerate(self._nodes, 1):
            node.place.mkdir(parents=True, exist_ok=True)
            (node.place / "cassandra.yaml").write_text(node_yaml(self.shape, number, node.place))
        (self.directory / "cluster.json").write_text(json.dumps(shape))


def _require_memory(needed: int) -> None:
    available = _available_memory()
    if available is not None and available < needed:
        raise NoCassandraError(f"{available} MB of memory are free; expected {needed} MB for the nodes.")


def _available_memory() -> int | None:
    """MB; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable:")), None)

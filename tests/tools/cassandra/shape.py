"""What a cluster is like, and the cassandra.yaml that follows from it for each node."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from tools.cassandra.addresses import NATIVE_PORT, STORAGE_PORT, following
from tools.cassandra.problems import NoCassandraError

_TEMPLATE = Path(__file__).with_name("cassandra.yaml")
_TOKENS = 4  # of each node: num_tokens in the template


@dataclass(frozen=True)
class Shape:
    """`settings` replace keys of cassandra.yaml; None leaves a key out. Without `seeds` all nodes are seeds."""

    nodes: int = 1
    heap: int = 384  # MB
    first: str = "127.0.0.1"
    seeds: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    is_brief: bool = False
    """Compiled fast rather than well: for a few minutes that is half the work."""

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= 9:
            raise NoCassandraError(f"A cluster of {self.nodes} nodes cannot be started; expected 1 to 9 nodes.")
        if self.heap < 200:
            raise NoCassandraError(f"{self.heap} MB of heap are too few for a node; expected 200 or more.")

    def hosts(self) -> list[str]:
        return following(self.first, self.nodes)

    def memory(self) -> int:
        """MB that the nodes will take: outside its heap a node needs as much as 500 MB."""
        return self.nodes * (self.heap + 500)


def node_yaml(shape: Shape, number: int, place: Path) -> str:
    """Node 1 is the first."""
    hosts = shape.hosts()
    filled = Template(_TEMPLATE.read_text()).substitute(
        address=hosts[number - 1],
        native_port=NATIVE_PORT,
        place=place,
        seeds=",".join(f"{host}:{STORAGE_PORT}" for host in shape.seeds or hosts),
        storage_port=STORAGE_PORT,
        tokens=",".join(map(str, _tokens(shape.nodes, number))),
    )
    return _replaced(filled, shape.settings)


def _tokens(nodes: int, number: int) -> list[int]:
    parts = nodes * _TOKENS
    return [-(2**63) + 2**64 * (turn * nodes + number - 1) // parts for turn in range(_TOKENS)]


def _replaced(yaml: str, settings: Mapping[str, object]) -> str:
    # A block is a key at the beginning of a line, with the lines below it that are indented.
    for key in settings:
        yaml = re.sub(rf"^{re.escape(key)}:.*\n(?:[ \t].*\n)*", "", yaml, flags=re.MULTILINE)
    # JSON is YAML.
    return yaml + "".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items() if value is not None)

"""What runs, as `weft status` tells it."""

from __future__ import annotations

from pathlib import Path

from weft.answers.status import status
from weft.clock import ManualClock
from weft.config import Settings
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.roles.status_file import write_status
from weft.roles.this_node import about_this_node


def running(home: Path, *nodes: tuple[NodeType, str]) -> list[str]:
    mgmt = MemoryMgmt(ManualClock())
    for kind, address in nodes:
        mgmt.register(kind, address, about=about_this_node(Settings(), "1"))
    assert all(node.state is NodeState.ONLINE for node in mgmt.nodes())
    return status(mgmt, home, Settings()).running


CRAWLER, INDEX, SPIDER = NodeType.CRAWLER, NodeType.INDEX_BUILDER, NodeType.SPIDER


def test_processes_of_another_home_on_this_machine_are_listed(tmp_path: Path) -> None:
    write_status(tmp_path, "index", {"address": "index@here:/one", "ended": True})
    nodes = [(CRAWLER, "127.0.0.1:7069"), (INDEX, "index@here:/two"), (SPIDER, "127.0.0.1:7070")]
    assert running(tmp_path, *nodes) == ["urlserver", "spider", "index"]


def test_one_of_this_home_that_is_gone_is_not_listed_before_its_lease_has_ended(tmp_path: Path) -> None:
    write_status(tmp_path, "index", {"address": "index@here:/one", "ended": True})
    assert running(tmp_path, (INDEX, "index@here:/one")) == []


def test_one_of_this_home_is_listed_without_a_control_plane_that_knows_it(tmp_path: Path) -> None:
    write_status(tmp_path, "urlserver", {"address": "127.0.0.1:7069"})
    assert running(tmp_path) == ["urlserver"]

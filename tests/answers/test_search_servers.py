"""What index servers tell of themselves, as people see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from weft.answers.nodes import warnings
from weft.answers.search_servers import numbers_in_words, search_progress, search_servers
from weft.cli.node_table import node_table
from weft.cli.status import search_words
from weft.mgmt.values import Health, Node, NodeId, NodeState, NodeType
from weft.roles.status_file import write_status


def server(
    address: str = "10.0.0.1:7071", row: int = 1, state: NodeState = NodeState.ONLINE, **figures: object
) -> Node:
    return Node(
        id=NodeId(1),
        address=address,
        type=NodeType.INDEX_SERVER,
        state=state,
        health=Health.HEALTHY,
        epoch=1,
        seen=100,
        holds=0,
        figures=dict(figures),
        row=row,
    )


FIGURES: dict[str, Any] = {
    "count": 8,
    "shards": [0, 1, 2, 5],
    "documents": 1234,
    "content": 5000,
    "references": 4990,
    "lag": 3,
}


def test_those_that_run_are_listed_by_row(tmp_path: Path) -> None:
    nodes = [
        server("c", 2, **FIGURES),
        server("b", 1, **FIGURES),
        server("gone", 1, NodeState.OFFLINE, **FIGURES),
        server("silent"),
        server("odd", count="many"),
    ]
    found = search_servers(nodes, tmp_path)
    assert [(one.address, one.row) for one in found] == [("b", 1), ("c", 2)]
    assert (found[0].shards, found[0].lag, found[0].documents) == ([0, 1, 2, 5], 3, 1234)


def test_what_a_server_of_this_home_wrote_last_is_newer_than_its_heartbeat(tmp_path: Path) -> None:
    write_status(tmp_path, "indexserver", {**FIGURES, "content": 5003, "lag": 0, "address": "b", "row": 1})
    (one,) = search_servers([server("b", 1, **FIGURES)], tmp_path)
    assert (one.content, one.lag) == (5003, 0)


def test_the_table_of_nodes_has_columns_for_them_only_if_there_are_any() -> None:
    spider = Node(
        id=NodeId(2),
        address="s",
        type=NodeType.SPIDER,
        state=NodeState.ONLINE,
        health=Health.HEALTHY,
        epoch=1,
        seen=1,
        holds=0,
    )
    header, rows = node_table([spider, server(**FIGURES), server("silent")])
    assert header[-4:] == ("row", "shards", "seq", "lag")
    assert [row[-4:] for row in rows] == [("", "", "", ""), ("1", "0-2, 5", "5,000", "3"), ("", "", "", "")]
    assert "shards" not in node_table([spider])[0]


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({}, "row 1, shard 0-2, 5 of 8: 1,234 documents to seq 5,000, 3 rounds behind"),
        ({"lag": 0, "pending": 7}, "up to date, 7 to be written for their references"),
        ({"freshness": {"p50": 0.51, "p99": 1.26}}, "3 rounds behind, 0.5 s after the index (p99 1.3 s)"),
        ({"shards": [], "building": True, "build": 2000}, "no shard yet: 1,234 documents"),
        ({"shards": [], "building": True, "build": 2000}, "building anew (2,000 documents so far)"),
    ],
)
def test_status_says_it_in_a_line(figures: dict[str, object], words: str, tmp_path: Path) -> None:
    (found,) = search_servers([server(**{**FIGURES, **figures})], tmp_path)
    assert words in search_words(found)


def test_a_server_that_cannot_write_is_worth_a_warning() -> None:
    told = list(warnings([server(**FIGURES, problem="the disk is full")]))
    assert told == ["indexserver 10.0.0.1:7071 makes nothing new searchable: the disk is full"]


def test_progress_changes_while_it_writes(tmp_path: Path) -> None:
    before = search_progress(tmp_path)
    write_status(tmp_path, "indexserver", {"written": 1})
    assert search_progress(tmp_path) != before
    write_status(tmp_path, "indexserver", {"written": 1, "documents": 5})
    between = search_progress(tmp_path)
    write_status(tmp_path, "indexserver", {"written": 1, "build": 1000})
    assert search_progress(tmp_path) != between


def test_numbers_are_written_as_runs() -> None:
    assert numbers_in_words([]) == ""
    assert numbers_in_words([3]) == "3"
    assert numbers_in_words([7, 0, 1, 2, 4, 5]) == "0-2, 4-5, 7"

"""Whoever writes the index of a cluster is killed -9 wherever that must be survived: no cell is wrong afterwards."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.cluster_crawl import CRAWLERS, check_cluster, crawling_cluster, last_seq, new_keyspace
from support.index_kills import STEPS, DoomedIndex, deaths
from support.link_graphs import Graph, hollins, random_graph, write_pages
from support.machines import settings_file
from support.mgmt_engines import Server
from support.weft_command import weft
from tools.cassandra.cluster import Cluster

KILLS = 30
# Each index process finds something to do, and leaves something for the next one.
ONE_AT_A_TIME: dict[str, object] = {"dispatcher__outstanding": 2, "dispatcher__segment_size": 1}
IMPORT_STEPS = [
    "import.round.before:2",
    "import.round.after:2",
    "store.register.before:2",
    "store.register.after:2",
    "store.apply:9",
    "store.apply:80",
    "store.acknowledged:2",
    "mgmt.commit.after:4",
]


def survive_kills(place: Path, server: Server, nodes: Cluster, seed: int) -> None:
    dice = random.Random(seed)
    with crawling_cluster(place, server, nodes.hosts, **ONE_AT_A_TIME) as machines:
        machines.start("indexserver1", *CRAWLERS)
        index = DoomedIndex(machines, dice)
        index.die(deaths(dice, KILLS))
        machines.start("index1")
        machines.wait_for_the_end()
        check_cluster(machines, refetches=0)
        print(f"kills={index.hits.total()} batches={last_seq(machines)} {dict(sorted(index.hits.items()))}")
        assert index.hits.keys() >= STEPS.keys()


def test_thirty_kills_of_the_index_process_leave_no_wrong_cell(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster
) -> None:
    survive_kills(tmp_path, own_postgres, shared_nodes, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_three_hundred_kills_of_the_index_process_leave_no_wrong_cell(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster, seed: int
) -> None:
    survive_kills(tmp_path, own_postgres, shared_nodes, seed)


def survive_import(place: Path, server: Server, nodes: Cluster, graph: Graph, steps: Sequence[str]) -> None:
    write_pages(place / "pages.jsonl", graph)
    command = ("import", "pages.jsonl", "--incremental", "--set", "index.round_pages=25")
    assert weft(*command, "--home", "embedded", cwd=place).returncode == 0
    schema = server.make_schema()
    with new_keyspace(place, server, nodes.hosts) as url:
        home = place / "home"
        home.mkdir()
        (home / "weft.toml").write_text(settings_file("", {"store.url": url, "mgmt.url": server.url(schema)}))
        for step in steps:
            killed = weft(*command, "--home", "home", cwd=place, WEFT_FAIL=f"{step}:kill")
            assert killed.returncode == -signal.SIGKILL, f"{step}: {killed.stdout}{killed.stderr}"
        last = json.loads(weft(*command, "--json", "--home", "home", cwd=place).stdout)
        assert last["resumed"], last
        verified = weft("verify", "--search", "--home", "home", cwd=place)
        assert verified.returncode == 0, verified.stdout + verified.stderr
        digests = [weft("digest", "--home", name, cwd=place).stdout for name in ("home", "embedded")]
        assert digests[0] == digests[1]
    server.drop(schema)


def test_an_import_that_is_killed_at_every_step_is_finished_by_the_next_one(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster
) -> None:
    survive_import(tmp_path, own_postgres, shared_nodes, random_graph(400), IMPORT_STEPS)


@pytest.mark.long
def test_a_published_graph_whose_import_is_often_killed_is_exact(
    tmp_path: Path, own_postgres: Server, shared_nodes: Cluster
) -> None:
    survive_import(tmp_path, own_postgres, shared_nodes, hollins(), IMPORT_STEPS * 3)

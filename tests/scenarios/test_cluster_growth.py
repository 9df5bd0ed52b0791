"""Nodes join and leave while an index is written: no cell is lost, and weft needs no restart and no new setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cluster_crawl import ROLES, check_cluster, crawling_cluster, wait_for_batches
from support.mgmt_engines import Server
from tools.cassandra.cluster import Cluster


@pytest.mark.long
def test_a_node_joins_and_another_one_leaves_during_a_crawl(
    tmp_path: Path, own_postgres: Server, three_nodes: Cluster
) -> None:
    # Not over before the last change, however fast the machine is.
    slow: dict[str, object] = {"urlserver__req_host_per_sec": 0.2}
    with crawling_cluster(tmp_path, own_postgres, three_nodes.hosts, **slow) as machines:
        machines.start(*ROLES)
        wait_for_batches(machines, 2)
        fourth = three_nodes.add()
        for node in three_nodes.nodes[:3]:
            node.nodetool("cleanup")
        wait_for_batches(machines, 1)
        three_nodes.node(3).nodetool("decommission")
        three_nodes.node(3).stop()
        wait_for_batches(machines, 1)
        machines.wait_for_the_end()
        check_cluster(machines)
        assert "UN" in fourth.nodetool("status")

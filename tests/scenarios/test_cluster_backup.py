"""A backup of a cluster's index, as docs/cluster.md says: snapshots and a dump, put back into what was emptied."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.cassandra import connected
from support.cluster_crawl import new_keyspace
from support.link_graphs import random_graph, write_pages
from support.machines import settings_file
from support.mgmt_engines import Server
from support.weft_command import weft
from tools.cassandra.cluster import Cluster
from tools.cassandra.node import Node
from weft.store.cassandra.schema import TABLES

BACKUP = "monday"


def good(place: Path, *arguments: str) -> str:
    done = weft(*arguments, "--home", "home", cwd=place)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def put_back(node: Node, keyspace: str) -> None:
    """Its files of that day, into empty tables."""
    for table in node.tables(keyspace):
        for each in (table / "snapshots" / BACKUP).glob("*-Data.db"):
            for part in each.parent.glob(each.name.removesuffix("Data.db") + "*"):
                shutil.copy(part, table)
    for name in TABLES:
        node.nodetool("refresh", keyspace, name)


@pytest.mark.long
def test_a_backup_that_is_put_back_is_the_index_of_that_day(
    tmp_path: Path, own_postgres: Server, three_nodes: Cluster
) -> None:
    write_pages(tmp_path / "early.jsonl", random_graph(300))
    write_pages(tmp_path / "late.jsonl", random_graph(500))
    schema, dump = own_postgres.make_schema(), tmp_path / "monday.dump"
    with new_keyspace(tmp_path, own_postgres, three_nodes.hosts) as url:
        keyspace = url.rpartition("/")[2]
        (tmp_path / "home").mkdir()
        settings = {"store.url": url, "mgmt.url": own_postgres.url(schema)}
        (tmp_path / "home/weft.toml").write_text(settings_file("", settings))
        good(tmp_path, "import", "early.jsonl")
        early = good(tmp_path, "digest")

        for node in three_nodes.nodes:
            node.nodetool("snapshot", "-t", BACKUP, keyspace)
        own_postgres.tool("pg_dump", "-Fc", "-n", schema, "-f", str(dump))
        good(tmp_path, "import", "late.jsonl")
        late = good(tmp_path, "digest")
        assert late != early

        with connected(three_nodes.hosts) as session:
            for table in TABLES:
                session.execute(f"TRUNCATE {keyspace}.{table}")
        for node in three_nodes.nodes:
            put_back(node, keyspace)
        own_postgres.tool("pg_restore", "--clean", "--if-exists", str(dump))
        good(tmp_path, "restore", "--links-only")
        assert good(tmp_path, "digest") == early
        assert good(tmp_path, "verify").startswith("0 differences")
        refused = weft("verify", "--search", "--home", "home", cwd=tmp_path)
        assert refused.returncode != 0, "what search knows is of another past"
        good(tmp_path, "import", "late.jsonl")
        assert good(tmp_path, "digest") == late
        assert good(tmp_path, "verify", "--search").startswith("0 differences")
    own_postgres.drop(schema)

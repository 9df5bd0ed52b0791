"""docs/cluster.md is followed from top to bottom: three Cassandra nodes with passwords, and the page's own settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cassandra import own_cluster, run_as
from support.machines_proof import WEB, one_machine
from support.mgmt_engines import Server
from support.page_reader import MACHINES, Reader, blocks
from support.weft_command import weft
from tools.cassandra.cluster import Cluster
from tools.cassandra.shape import Shape
from weft.config import load
from weft.demo.web.server.serving import serving

PAGE = (Path(__file__).resolve().parents[2] / "docs/cluster.md").read_text(encoding="utf-8")
PASSWORDS = {"authenticator": "PasswordAuthenticator", "authorizer": "CassandraAuthorizer"}
assert all(f"{key}: {value}" in PAGE for key, value in PASSWORDS.items())


def run_cql(cluster: Cluster, block: str, user: str, password: str) -> None:
    run_as(cluster.hosts, user, password, [statement for statement in block.split(";\n") if statement.strip()])


@pytest.fixture
def nodes(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with own_cluster(request, Shape(nodes=3, settings=PASSWORDS)) as cluster:
        yield cluster


@pytest.fixture
def reader(tmp_path: Path, own_postgres: Server, nodes: Cluster) -> Iterator[Reader]:
    one_machine(WEB)  # before the same port is taken here
    with serving(WEB, tmp_path / "web.log") as web:
        made = Reader(PAGE, tmp_path, own_postgres, web, nodes.hosts, patience=300.0)
        made.make_database()
        yield made
        made.end()


@pytest.mark.long
def test_whoever_follows_the_page_has_an_index_on_three_machines(
    reader: Reader, nodes: Cluster, tmp_path: Path
) -> None:
    users, rights = blocks(PAGE, "cql")
    schema, check, start1, start2, start3, look, verify = blocks(PAGE, "sh")
    run_cql(nodes, users, "cassandra", "cassandra")
    nodes.node(1).nodetool("repair", "system_auth")
    # A lease that outlasts a busy machine: the index stays with the first one.
    reader.write_settings({"web.listen": "127.0.0.1:0", "mgmt.lease": 20.0})
    reader.follow(schema)
    run_cql(nodes, rights, "admin", "battery-staple")
    reader.follow(check)
    reader.follow(start1)
    reader.wait_until_said("crawl1.index", "index runs from seq 0")
    reader.follow(start2)
    reader.follow(start3)
    reader.wait_until_said("crawl2.index", "index stands by")
    reader.wait_for_the_end(tmp_path / "crawl1")
    reader.follow(look)
    listed = reader.printed["crawl3: nodes"]
    assert all(name in listed for name in MACHINES), listed
    assert listed.count("stands by") == 1, listed
    assert "all tables: never" in reader.printed["crawl1: status"]
    reader.follow(verify)
    assert reader.printed["crawl3: digest"].strip() == one_machine(WEB).digest

    nodes.node(1).nodetool("repair", "weft")
    told = weft("status", "--home", "crawl2", cwd=tmp_path).stdout
    assert "repair   all tables: 20" in told, told

    reader.roles["crawl1.index"].kill()
    reader.wait_until_said("crawl2.index", "index runs from seq")


def test_the_settings_of_the_page_are_taken(tmp_path: Path) -> None:
    machines = blocks(PAGE, "toml")
    assert len(machines) == len(MACHINES)
    for number, text in enumerate(machines):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}/weft.toml").write_text(text)
        load(tmp_path / f"{number}", {}, [])
    for key, scheme in (("store", "cassandra"), ("mgmt", "postgresql")):
        urls = [line.strip() for line in PAGE.splitlines() if line.startswith(f"    {scheme}://")]
        assert urls
        for url in urls:
            load(tmp_path / "0", {f"WEFT_{key.upper()}_URL": url}, [])

"""A crawl that ends early moves into a cluster, with its control plane, goes on there to the end, and moves back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cassandra import connected
from support.weft_command import weft
from support.whole_crawl import check_against_the_truth, check_manners, check_proof, crawl, served_for, told


@pytest.fixture
def cluster(cassandra_hosts: tuple[str, ...]) -> Iterator[str]:
    keyspace = f"weft_moved_{uuid.uuid4().hex[:12]}"
    yield f"cassandra://{','.join(cassandra_hosts)}/{keyspace}"
    with connected(cassandra_hosts) as session:
        session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")


def run(place: Path, *arguments: str) -> None:
    done = weft(*arguments, "--home", "home", cwd=place)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_crawl_goes_on_in_the_cluster_where_it_was(cluster: str, postgres_url: str, tmp_path: Path) -> None:
    with served_for(tmp_path) as served:
        crawl(tmp_path, served.url(0), "--scope", "any", "--pages", "30")
        before, toml = told(tmp_path, "status")["links"], tmp_path / "home/weft.toml"
        embedded = toml.read_text()
        new = ("--set", f'store.url="{cluster}"', "--set", f'mgmt.url="{postgres_url}"')
        run(tmp_path, "schema", "cassandra", "--apply", "--replication", "1", "--shards", "2", *new)
        run(tmp_path, "migrate", "--to", cluster, "--mgmt", postgres_url)
        toml.write_text(f'{embedded}\n[store]\nurl = "{cluster}"\n[mgmt]\nurl = "{postgres_url}"\n')
        assert told(tmp_path, "status")["links"] == before
        crawl(tmp_path)
        assert told(tmp_path, "status")["links"]["crawled"] > before["crawled"] >= 30
        check_proof(tmp_path)
        check_manners(served, tmp_path)
        run(tmp_path, "migrate", "--to", "rocksdb:", "--mgmt", "sqlite:", "--again")
        toml.write_text(embedded)
        check_against_the_truth(served, tmp_path)
        crawl(tmp_path)
        check_proof(tmp_path)
        check_manners(served, tmp_path)

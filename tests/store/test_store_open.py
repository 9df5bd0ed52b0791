"""The setting chooses the engine; what stands in its way is told in one sentence, and nothing is made."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cassandra_store import shared_session
from weft.config import Settings
from weft.config.settings import settings_with
from weft.errors import StoreError, StoreForeign, StoreMissing
from weft.store import open as opening
from weft.store.api import Batch
from weft.store.cassandra.schema import TABLES, VERSION
from weft.store.tables import Table


def cluster(hosts: tuple[str, ...], keyspace: str, more: str = "") -> Settings:
    url = f"cassandra://{','.join(hosts)}/{keyspace}{more}"
    return settings_with({"store.url": url, "mgmt.url": "postgresql://localhost/weft"})


def test_what_the_store_takes_the_reader_gives(tmp_path: Path) -> None:
    batch = Batch()
    batch.put(Table.QUERY, b"r", b"f", b"q", b"v")
    with opening.open_store(tmp_path / "store", Settings()) as store:
        store.write(batch, 1)
    with opening.open_reader(tmp_path / "store", Settings()) as reader:
        assert [cell.value for cell in reader.scan(Table.QUERY, b"r")] == [b"v"]


def test_a_cluster_is_opened_by_its_address(cassandra_hosts: tuple[str, ...], tmp_path: Path) -> None:
    _, keyspace = shared_session(cassandra_hosts)
    settings = cluster(cassandra_hosts, keyspace.id)
    with opening.open_reader(tmp_path, settings) as reader, opening.open_cluster(settings) as store:
        assert reader.id == store.id == keyspace.id
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_does_not_answer_is_named_with_its_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(
        StoreError, match=rf"cassandra://127.0.0.1:{port}/weft: cannot connect \(store.url\): .*refused"
    ):
        opening.open_reader(tmp_path, cluster((f"127.0.0.1:{port}",), "weft"))


def test_a_keyspace_that_is_not_there_is_named_with_the_command_that_makes_it(
    cassandra_hosts: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(StoreMissing, match="`weft schema cassandra --apply` makes it"):
        opening.open_reader(tmp_path, cluster(cassandra_hosts, "weft_not_there"))


@pytest.fixture
def other_version(cassandra_hosts: tuple[str, ...]) -> Iterator[str]:
    session, keyspace = shared_session(cassandra_hosts)
    name = f"{keyspace.id}_other"[:48]
    session.run(f"CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
    for table in TABLES:
        session.run(f"CREATE TABLE {name}.{table} (name text PRIMARY KEY, value text)")
    session.run(
        f'INSERT INTO {name}.notes (name, value) VALUES (\'keyspace\', \'{{"version": 99, "shards": 16, "id": "x"}}\')'
    )
    yield name
    session.run(f"DROP KEYSPACE {name}")


def test_a_keyspace_of_another_version_is_refused(
    cassandra_hosts: tuple[str, ...], tmp_path: Path, other_version: str
) -> None:
    with pytest.raises(StoreForeign, match=re.escape(f"version 99 of weft's tables; this weft uses {VERSION}")):
        opening.open_reader(tmp_path, cluster(cassandra_hosts, other_version))


def test_a_data_centre_that_there_is_not_is_refused(cassandra_hosts: tuple[str, ...], tmp_path: Path) -> None:
    _, keyspace = shared_session(cassandra_hosts)
    with pytest.raises(StoreError, match="cannot connect"):
        opening.open_reader(tmp_path, cluster(cassandra_hosts, keyspace.id, "?datacenter=nowhere"))

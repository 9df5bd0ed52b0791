"""When a cluster was last repaired, by its own records: a table counts only once all of its tokens were."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cassandra import connected
from support.cassandra_store import shared_session
from weft.answers.repairs import Repairs, repairs_of
from weft.cli.status import repair_words
from weft.config import Settings
from weft.config.settings import settings_with
from weft.store.cassandra.repairs import REPAIRED, Range, Repair, last_repairs, last_whole
from weft.store.cassandra.schema import VERSION, Keyspace, notes_text, schema_text

CELLS = frozenset({"cells"})
DAY = 86_400_000
DC = "datacenter1"
MADE = 1_760_000_000_000


def repair(started: int, *ranges: Range) -> Repair:
    return Repair(started, CELLS, ranges)


def test_what_was_never_repaired_in_whole_never_was() -> None:
    assert last_whole([]) is None
    assert last_whole([repair(1, (0, 10)), repair(2, (10, 20))]) is None


def test_a_repair_of_the_whole_ring_counts_from_its_start() -> None:
    assert last_whole([repair(5, (-7, 3), (3, -7))]) == 5
    assert last_whole([repair(5, (-7, 3), (3, -7)), repair(9, (-7, 3), (3, -7))]) == 9


def test_repairs_of_parts_count_together_from_the_oldest_that_is_needed() -> None:
    parts = [repair(1, (0, 100), (100, 0)), repair(5, (0, 100)), repair(7, (100, 0)), repair(8, (0, 50))]
    assert last_whole(parts) == 5
    assert last_whole(parts[:2] + parts[3:]) == 1


@pytest.fixture
def recorded(cassandra_hosts: tuple[str, ...]) -> Iterator[tuple[Settings, str]]:
    """A keyspace whose cells have two copies, as far as its schema says, and the table of the cluster's repairs."""
    name = f"weft_repairs_{time.time_ns() % 10**9}"
    url = f"cassandra://{','.join(cassandra_hosts)}/{name}"
    with connected(cassandra_hosts) as session:
        for text in (*schema_text(name, 1, DC), *notes_text(name, Keyspace(VERSION, 16, name, DC, MADE))):
            session.execute(text)
        session.execute(schema_text(name, 2, DC)[0].replace("CREATE KEYSPACE IF NOT EXISTS", "ALTER KEYSPACE"))
        yield settings_with({"store.url": url, "mgmt.url": "postgresql://localhost/weft"}), name
        session.execute(f"DROP KEYSPACE {name}")


def note_repair(hosts: tuple[str, ...], keyspace: str, started: int, tables: set[str], preview: str = "NONE") -> None:
    """As Cassandra does at the end of one."""
    from cassandra import ConsistencyLevel
    from cassandra.query import SimpleStatement

    insert = (
        "INSERT INTO system_distributed.parent_repair_history (parent_id, keyspace_name, columnfamily_names, "
        "started_at, successful_ranges, options) VALUES (now(), %s, %s, %s, %s, %s) USING TTL 60"
    )
    with connected(hosts) as session:
        statement = SimpleStatement(insert, consistency_level=ConsistencyLevel.LOCAL_ONE)
        ring = {"(-5,5]", "(5,-5]"}
        session.execute(statement, (keyspace, tables, started, ring, {"previewKind": preview, "hosts": ""}))


def test_the_clusters_own_records_tell_when_each_table_was_repaired(
    cassandra_hosts: tuple[str, ...], recorded: tuple[Settings, str]
) -> None:
    settings, name = recorded
    now = time.time_ns() // 1_000_000
    assert last_repairs(settings) == (dict.fromkeys(REPAIRED), MADE)
    assert warnings_at(settings, MADE + DAY) == ""
    assert warnings_at(settings, MADE + 3 * DAY).startswith("not repaired within 2 days: cells, history, ranking; ")
    note_repair(cassandra_hosts, name, now - 3 * DAY, set(REPAIRED))
    note_repair(cassandra_hosts, name, now - DAY, {"cells"})
    note_repair(cassandra_hosts, name, now, set(REPAIRED), preview="ALL")
    assert last_repairs(settings) == ({**dict.fromkeys(REPAIRED, now - 3 * DAY), "cells": now - DAY}, MADE)
    warning = warnings_at(settings, now)
    assert warning.startswith("not repaired within 2 days: history, ranking; ")
    assert f"nodetool repair {name}" in warning


def warnings_at(settings: Settings, now: int) -> str:
    found = repairs_of(settings, now)
    assert found is not None
    assert not found.problem
    return found.warning


def test_where_cells_have_one_copy_there_is_nothing_to_repair(cassandra_hosts: tuple[str, ...]) -> None:
    session, _ = shared_session(cassandra_hosts)
    settings = settings_with({"store.url": str(session.address), "mgmt.url": "postgresql://localhost/weft"})
    assert repairs_of(settings, 0) is None
    assert repairs_of(Settings(), 0) is None


def test_where_cells_have_one_copy_tombstones_do_not_wait_for_repairs() -> None:
    def waits(replication: int) -> bool:
        return "'only_purge_repaired_tombstones': 'true'" in schema_text("weft", replication)[1]

    assert (waits(1), waits(3)) == (False, True)


def test_a_cluster_that_does_not_tell_is_no_reason_to_tell_nothing(tmp_path: Path) -> None:
    away = settings_with({"store.url": "cassandra://127.0.0.1:1/weft", "mgmt.url": "postgresql://localhost/weft"})
    found = repairs_of(away, 0)
    assert found is not None
    assert "cannot connect" in repair_words(found)


def test_a_line_tells_each_table_or_all_of_them() -> None:
    assert repair_words(Repairs({"cells": None, "ranking": None})) == "all tables: never"
    assert repair_words(Repairs({"cells": 0, "ranking": None})) == "cells 1970-01-01T00:00:00Z, ranking never"

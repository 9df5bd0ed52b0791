"""What only the cluster's control plane can suffer: no server, no rights, broken connections, deadlocks."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from support.breaking_proxy import BreakingProxy
from support.mgmt_audit import audit
from support.mgmt_engines import Server
from support.mgmt_machine import Machine
from weft.clock import ManualClock
from weft.config import load
from weft.config.sections import MgmtSettings
from weft.errors import MgmtError, MgmtForeign, MgmtUnavailable, SettingsError
from weft.mgmt.api import Mgmt
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.dialect import POSTGRESQL
from weft.mgmt.sql.migrations import Migration, bring_up_to_date, migrations
from weft.mgmt.sql.postgres_database import _tables
from weft.mgmt.values import NewLink, NodeType, Result, WarcPosition


def some_links(count: int) -> list[NewLink]:
    return [NewLink(f"h{n}/", f"https://h{n}/", f"h{n}") for n in range(count)]


def and_then(sql: str) -> list[Migration]:
    """All migrations, and one that a later weft may have."""
    steps = migrations(POSTGRESQL)
    return [*steps, Migration(steps[-1].number + 1, sql)]


@pytest.fixture
def mgmt(postgres_url: str) -> Iterator[PostgresMgmt]:
    opened = PostgresMgmt(postgres_url)
    yield opened
    opened.close()


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_connection_that_breaks_in_a_commit_loses_and_doubles_nothing(postgres_url: str, how: str) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-proxy-") as directory:
        proxy = BreakingProxy(postgres_url, Path(directory))
        mgmt = PostgresMgmt(proxy.url)
        crawler = mgmt.register(NodeType.CRAWLER, "c:1")
        proxy.break_next = how
        assert mgmt.add(some_links(7)) == 7
        proxy.break_next = how
        chunk = mgmt.claim(crawler, 5)
        assert chunk is not None
        assert len(mgmt.table("chunk")) == 1
        proxy.break_next = how
        position = WarcPosition("s:1", "f", 0, 1)
        results = [Result(doc_id=one.doc_id, claim=one.claim, status=200, position=position) for one in chunk.links]
        assert mgmt.report(results) == [True] * 5
        builder = mgmt.register(NodeType.INDEX_BUILDER, "b:1")
        proxy.break_next = how
        (taken,) = mgmt.take_crawled(builder)
        assert taken.attempt == 1
        proxy.break_next = how
        assert mgmt.built(builder, taken.id, 1, 1)
        assert proxy.broken == 5
        audit(mgmt)
        mgmt.close()
        proxy.close()


def test_a_closed_connection_is_made_again(
    mgmt: PostgresMgmt, postgres_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for count in (1, 2):
            postgres_server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weft'"
            )
            assert mgmt.add(some_links(count)) == 1
        assert mgmt.counts().links["pending"] == 2
    assert "connection to the control plane lost, trying again" in caplog.text
    assert "connection to the control plane is back" in caplog.text


def test_patience_ends(postgres_url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-proxy-") as directory:
        proxy = BreakingProxy(postgres_url, Path(directory))
        mgmt = PostgresMgmt(proxy.url, MgmtSettings(patience=0.2))
        proxy.close()
        proxy.break_next = "before"
        with pytest.raises(MgmtUnavailable, match="cannot be reached"):
            mgmt.add(some_links(1))
        mgmt.close()


def test_a_deadlock_is_solved_by_trying_again(mgmt: PostgresMgmt, postgres_url: str) -> None:
    other = PostgresMgmt(postgres_url)
    mgmt.add(some_links(2))
    both, tries = threading.Barrier(2), []

    def lock(tx: Transaction, *order: int) -> None:
        tries.append(order)
        tx.rows('SELECT 1 FROM link WHERE "index" = :first {lock}', first=order[0])
        if len(tries) <= 2:
            both.wait(10)
        tx.rows('SELECT 1 FROM link WHERE "index" = :second {lock}', second=order[1])

    threads = [
        threading.Thread(target=lambda: mgmt._database.write(lambda tx: lock(tx, 1, 2))),
        threading.Thread(target=lambda: other._database.write(lambda tx: lock(tx, 2, 1))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert len(tries) == 3, "one of the two had to try again"
    other.close()


def test_a_transaction_that_conflicts_is_tried_again(mgmt: PostgresMgmt) -> None:
    tries = []

    def conflict(tx: Transaction) -> int:
        tries.append(1)
        tx.run("INSERT INTO site (name, scope, is_excluded, seeds, settings) VALUES ('a', 'any', 0, '', '')")
        if len(tries) < 3:
            tx.run("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
        return len(tries)

    assert mgmt._database.write(conflict) == 3
    assert mgmt._database.read(lambda tx: tx.rows("SELECT name FROM site")) == [("a",)]


def test_no_server_is_told_without_the_password() -> None:
    with pytest.raises(MgmtUnavailable) as caught:
        PostgresMgmt("postgresql://me:secret@127.0.0.1:9/weft")
    assert str(caught.value).startswith("control plane postgresql://127.0.0.1:9/weft: cannot be reached: ")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_database_is_told(postgres_server: Server) -> None:
    with pytest.raises(MgmtUnavailable, match=r'cannot be reached: .*database "nowhere" does not exist'):
        PostgresMgmt(postgres_server.url().replace("/postgres?", "/nowhere?"))


def test_no_rights_are_told_and_nothing_is_changed(postgres_server: Server, postgres_url: str) -> None:
    postgres_server.run("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    schema = postgres_url.rpartition("%3D")[2]
    postgres_server.run(f"GRANT USAGE ON SCHEMA {schema} TO guest")
    url = postgres_url.replace("postgres:@", "guest:@")
    assert url != postgres_url
    with pytest.raises(MgmtUnavailable, match=f"no rights: permission denied for schema {schema}; nothing was changed"):
        PostgresMgmt(url)
    PostgresMgmt(postgres_url).close()
    with pytest.raises(MgmtUnavailable, match="no rights: permission denied for table"):
        PostgresMgmt(url)
    postgres_server.run(f"REVOKE ALL ON SCHEMA {schema} FROM guest; DROP ROLE guest")


def test_a_database_of_another_program_is_refused_and_left_alone(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("CREATE TABLE invoices (a int)")
        with pytest.raises(MgmtForeign, match=r"tables of another program \(invoices\); expected an empty one"):
            PostgresMgmt(postgres_url)
        found = other.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    assert found == [("invoices",)]


def test_a_newer_version_is_refused(mgmt: PostgresMgmt, postgres_url: str) -> None:
    mgmt._database.write(lambda tx: tx.run("INSERT INTO weft_schema VALUES (99, 0)"))
    newest = migrations(POSTGRESQL)[-1].number
    with pytest.raises(MgmtForeign, match=f"it has version 99, made by a newer weft; this one knows up to {newest}"):
        PostgresMgmt(postgres_url)


def test_an_older_version_is_brought_up_to_date_once(mgmt: PostgresMgmt) -> None:
    database: Any = mgmt._database
    steps = and_then("CREATE TABLE later (a INTEGER);\nINSERT INTO later VALUES (1);\n")
    for _ in range(2):
        database.write(lambda tx: bring_up_to_date(tx, steps, _tables(tx), database._script, "here"))
    assert database.read(lambda tx: tx.rows("SELECT a FROM later")) == [(1,)]


def test_many_may_open_a_new_one_at_once(postgres_url: str) -> None:
    opened: list[PostgresMgmt] = []
    threads = [threading.Thread(target=lambda: opened.append(PostgresMgmt(postgres_url))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(opened) == 6
    for mgmt in opened:
        mgmt.close()


@pytest.mark.parametrize("change", ["DELETE FROM link", "DELETE FROM chunk", "TRUNCATE link CASCADE"])
def test_links_and_chunks_cannot_be_deleted(mgmt: PostgresMgmt, change: str) -> None:
    mgmt.add(some_links(1))
    mgmt.claim(mgmt.register(NodeType.CRAWLER, "c:1"))
    with pytest.raises(MgmtError, match="never deleted"):
        mgmt._database.write(lambda tx: tx.run(change))
    audit(mgmt)


@pytest.mark.parametrize(
    "change", ["UPDATE link SET state = 'fetched'", "UPDATE crawler SET crawling = 0", "UPDATE host SET state = 'up'"]
)
def test_the_database_itself_refuses_states_that_cannot_be(mgmt: PostgresMgmt, change: str) -> None:
    mgmt.add(some_links(1))
    mgmt.claim(mgmt.register(NodeType.CRAWLER, "c:1"))
    with pytest.raises(MgmtError, match="violates check constraint"):
        mgmt._database.write(lambda tx: tx.run(change))


def test_a_url_that_would_not_fit_the_index_is_refused_by_the_settings(mgmt: PostgresMgmt, tmp_path: Path) -> None:
    random = Random(1)
    uri = "com.example/" + "".join(random.choice("abcdefghijklmnopqrstuvwxyz0123456789%-_.") for _ in range(2588))
    assert mgmt.add([NewLink(uri, f"https://{uri}", "example.com")]) == 1
    assert mgmt.add([NewLink(uri, f"https://{uri}", "example.com")]) == 0
    sets = ['mgmt.url="postgresql:///weft"', "url.max_length=2600"]
    assert load(tmp_path, {}, sets).settings.url.max_length == len(uri)
    with pytest.raises(SettingsError, match=r"url\.max_length: expected at most 2600 characters because of mgmt\.url"):
        load(tmp_path, {}, [sets[0], "url.max_length=2601"])


def test_leases_are_judged_by_the_databases_clock(mgmt: PostgresMgmt, monkeypatch: pytest.MonkeyPatch) -> None:
    mgmt.register(NodeType.CRAWLER, "c:1")
    monkeypatch.setattr("time.time", lambda: 0.0)
    monkeypatch.setattr("time.time_ns", lambda: 0)
    assert mgmt.reap() == 0
    assert 0 <= mgmt.nodes()[0].seen < 30_000


def test_postgresql_answers_as_the_memory_twin_does(postgres_url: str) -> None:
    class PostgresMachine(Machine):
        def others(self, clock: ManualClock) -> list[Mgmt]:
            schema = postgres_url.rpartition("%3D")[2]
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}")
            self.postgres = PostgresMgmt(postgres_url, None, clock)
            return [self.postgres]

        @invariant()
        def the_database_is_consistent(self) -> None:
            audit(self.postgres)

        def teardown(self) -> None:
            if hasattr(self, "postgres"):
                self.postgres.close()

    most = max(4, hypothesis_settings().max_examples // 20)
    run_state_machine_as_test(PostgresMachine, settings=hypothesis_settings(stateful_step_count=30, max_examples=most))

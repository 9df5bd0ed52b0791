"""What only the embedded control plane can suffer: foreign files, full disks, processes that die."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.mgmt_audit import audit
from weft.config import Settings
from weft.errors import LeaseLost, MgmtError, MgmtForeign, MgmtUnavailable
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.mgmt.sql.dialect import SQLITE
from weft.mgmt.sql.migrations import Migration, bring_up_to_date, migrations
from weft.mgmt.sql.sqlite_database import _tables
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import NewLink, NodeState, NodeType

DYING = """
import sys, time
from pathlib import Path
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import NodeType
mgmt = SqliteMgmt(Path(sys.argv[1]))
lease = mgmt.register(NodeType.CRAWLER, "dying:1")
chunk = mgmt.claim(lease, 3)
print(len(chunk.links), flush=True)
time.sleep(600)
"""


def some_links(count: int) -> list[NewLink]:
    return [NewLink(f"h{n}/", f"https://h{n}/", f"h{n}") for n in range(count)]


def and_then(sql: str) -> list[Migration]:
    """All migrations, and one that a later weft may have."""
    steps = migrations(SQLITE)
    return [*steps, Migration(steps[-1].number + 1, sql)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "mgmt.db"


@pytest.fixture
def mgmt(path: Path) -> Iterator[SqliteMgmt]:
    opened = SqliteMgmt(path)
    yield opened
    opened.close()


@pytest.fixture
def dying(mgmt: SqliteMgmt, path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds three links."""
    mgmt.add(some_links(3))
    process = subprocess.Popen([sys.executable, "-c", DYING, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "3\n"
    yield process
    process.kill()
    process.wait()


def test_the_home_gets_a_control_plane_of_its_own(tmp_path: Path) -> None:
    mgmt = open_mgmt(Settings(), Home(tmp_path))
    assert mgmt.add(some_links(2)) == 2
    mgmt.close()
    again = open_mgmt(Settings(), Home(tmp_path))
    assert again.counts().links["pending"] == 2
    again.close()


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(MgmtForeign, match=r"tables of another program \(bookmarks\); expected an empty one"):
        SqliteMgmt(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["mgmt.db"]


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("a letter to a friend, longer than the header of a database " * 20)
    before = path.read_bytes()
    with pytest.raises(MgmtForeign, match="file is not a database; expected a database made by weft"):
        SqliteMgmt(path)
    assert path.read_bytes() == before


def test_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    SqliteMgmt(path).close()
    with sqlite3.connect(path) as newer:
        newer.execute("INSERT INTO weft_schema VALUES (99, 0)")
    newest = migrations(SQLITE)[-1].number
    with pytest.raises(MgmtForeign, match=f"it has version 99, made by a newer weft; this one knows up to {newest}"):
        SqliteMgmt(path)


def test_an_older_version_is_brought_up_to_date_once(mgmt: SqliteMgmt) -> None:
    mgmt.add(some_links(2))
    database: Any = mgmt._database
    steps = and_then("CREATE TABLE later (a INTEGER);\nINSERT INTO later VALUES (1);\n")
    for _ in range(2):
        database.write(lambda tx: bring_up_to_date(tx, steps, _tables(tx), database._script, "here"))
    assert database.read(lambda tx: tx.rows("SELECT a FROM later")) == [(1,)]
    versions = database.read(lambda tx: tx.rows("SELECT version FROM weft_schema ORDER BY version"))
    assert versions == [(step.number,) for step in steps]
    assert mgmt.counts().links["pending"] == 2


def test_a_step_that_fails_leaves_the_old_version_whole(mgmt: SqliteMgmt) -> None:
    database: Any = mgmt._database
    steps = and_then("CREATE TABLE later (a INTEGER);\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(MgmtUnavailable, match="no such table: nowhere; nothing was changed"):
        database.write(lambda tx: bring_up_to_date(tx, steps, _tables(tx), database._script, "here"))
    assert "later" not in database.read(_tables)
    assert mgmt.add(some_links(1)) == 1


def test_a_place_where_nothing_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MgmtUnavailable, match=r"control plane .*file/mgmt.db: cannot be made: "):
        SqliteMgmt(tmp_path / "file" / "mgmt.db")


def test_eight_processes_may_open_a_new_one_at_once(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(lambda _: SqliteMgmt(path), range(8)))
    assert sum(mgmt.add(some_links(1)) for mgmt in opened) == 1
    for mgmt in opened:
        mgmt.close()


def test_a_full_disk_is_told_and_loses_nothing(mgmt: SqliteMgmt) -> None:
    mgmt.add(some_links(10))
    database: Any = mgmt._database
    connection = database._connection
    ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(MgmtUnavailable, match="the disk is full; make room and try again; nothing was changed"):
        mgmt.add(some_links(5000))
    assert mgmt.counts().links["pending"] == 10
    connection.execute("PRAGMA max_page_count = 1000000")
    assert mgmt.add(some_links(5000)) == 4990
    audit(mgmt)


@pytest.mark.parametrize("relation", ["link", "chunk"])
def test_links_and_chunks_cannot_be_deleted(mgmt: SqliteMgmt, relation: str) -> None:
    mgmt.add(some_links(1))
    mgmt.claim(mgmt.register(NodeType.CRAWLER, "c:1"))
    with pytest.raises(MgmtError, match="never deleted"):
        mgmt._database.write(lambda tx: tx.run(f"DELETE FROM {relation}"))
    assert len(mgmt.table(relation)) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE link SET state = 'fetched'",
        "UPDATE link SET state = 'crawled'",
        "UPDATE link SET chunk_id = 99 WHERE state = 'crawling'",
        "UPDATE crawler SET c_task = 'crawled'",
        "UPDATE crawler SET crawling = -1",
        "UPDATE host SET health = 'fine'",
        "UPDATE pending_host SET pending = -1",
        "INSERT INTO link (link, kind, uri, web_host) SELECT link, kind, uri, web_host FROM link",
    ],
)
def test_the_database_itself_refuses_states_that_cannot_be(mgmt: SqliteMgmt, change: str) -> None:
    mgmt.add(some_links(2))
    mgmt.claim(mgmt.register(NodeType.CRAWLER, "c:1"), 1)
    with pytest.raises(MgmtError, match="constraint failed"):
        mgmt._database.write(lambda tx: tx.run(change))
    audit(mgmt)


def test_what_a_killed_process_held_is_free_at_once(mgmt: SqliteMgmt, dying: subprocess.Popen[str]) -> None:
    assert mgmt.reap() == 0
    assert mgmt.counts().links["crawling"] == 3
    dying.send_signal(signal.SIGKILL)
    dying.wait()
    lease = mgmt.register(NodeType.CRAWLER, "new:1")
    chunk = mgmt.claim(lease)
    assert chunk is not None
    assert [link.claim for link in chunk.links] == [2, 2, 2]
    audit(mgmt)


def test_a_process_that_only_stands_still_keeps_its_work(mgmt: SqliteMgmt, dying: subprocess.Popen[str]) -> None:
    dying.send_signal(signal.SIGSTOP)
    mgmt.register(NodeType.CRAWLER, "new:1")
    assert mgmt.counts().links["crawling"] == 3


def test_a_forked_child_does_not_keep_its_parents_lock(path: Path, mgmt: SqliteMgmt) -> None:
    mgmt.add(some_links(3))
    code = DYING.replace("print(", "import os\nif os.fork() == 0: print(")
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "3\n"
    process.kill()
    process.wait()
    assert mgmt.reap() == 1
    os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()


def test_locks_of_ended_epochs_are_cleared_away(mgmt: SqliteMgmt, path: Path) -> None:
    locks = path.with_name("mgmt.db-locks")
    first = mgmt.register(NodeType.CRAWLER, "c:1")
    second = mgmt.register(NodeType.CRAWLER, "c:1")
    assert [file.name for file in locks.iterdir()] == [f"{second.node}-{second.epoch}.lock"]
    mgmt.tell(second, NodeState.OFFLINE)
    assert list(locks.iterdir()) == []
    with pytest.raises(LeaseLost):
        mgmt.heartbeat(first)


def test_locks_of_processes_that_died_are_cleared_away_by_whoever_registers(
    mgmt: SqliteMgmt, path: Path, dying: subprocess.Popen[str]
) -> None:
    locks = path.with_name("mgmt.db-locks")
    assert len(list(locks.iterdir())) == 1
    dying.kill()
    dying.wait()
    new = mgmt.register(NodeType.CRAWLER, "new:1")
    assert [file.name for file in locks.iterdir()] == [f"{new.node}-{new.epoch}.lock"]


def test_a_registration_that_fails_leaves_no_lock_behind(mgmt: SqliteMgmt, path: Path) -> None:
    mgmt.register(NodeType.CRAWLER, "c:1")
    other = SqliteMgmt(path)
    database: Any = mgmt._database
    database._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(MgmtUnavailable):
        mgmt.register(NodeType.CRAWLER, "c:1")
    assert other.register(NodeType.CRAWLER, "c:1").epoch > 1
    other.close()


def test_closing_is_dying(mgmt: SqliteMgmt, path: Path) -> None:
    other = SqliteMgmt(path)
    mgmt.add(some_links(2))
    other.claim(other.register(NodeType.CRAWLER, "c:1"))
    assert mgmt.reap() == 0
    other.close()
    assert mgmt.reap() == 1
    assert mgmt.counts().links["pending"] == 2


def test_a_call_waits_for_other_processes(mgmt: SqliteMgmt, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as threads:
        added = threads.submit(mgmt.add, some_links(1))
        assert not added.done()
        other.execute("COMMIT")
        assert added.result(timeout=30) == 1
    other.close()

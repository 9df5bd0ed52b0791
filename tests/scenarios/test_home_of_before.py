"""A home that an earlier weft made, and the way out of it."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import weft as weft_package
from support.run_web import run_web
from support.weft_command import one_sentence, weft
from support.whole_crawl import crawl, served_for, told
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.errors import MgmtOutdated
from weft.home import Home
from weft.mgmt.sql import sqlite_database
from weft.mgmt.sql.migrations import migrations
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import database_of
from weft.store.directory import MARKER


def test_a_home_of_before_is_refused_and_its_archive_makes_a_new_one(tmp_path: Path) -> None:
    with served_for(tmp_path, WebPlan(seed=3, hosts=1, pages=4, profile=PROFILES["plain"])) as served:
        crawl(tmp_path, served.url(0))
    digest, pages = told(tmp_path, "digest"), told(tmp_path, "top")["items"]
    (tmp_path / "home/store" / MARKER).write_text(json.dumps({"weft": "store", "engine": "rocksdb", "format": 1}))
    for command in ("top", "crawl"):
        refused = weft(command, "--home", "home", cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    found = re.search("`weft (.*)`", refused.stderr)
    assert found
    *arguments, files = shlex.split(found[1])
    archive = [str(file) for file in tmp_path.glob(files)]
    done = weft(*arguments, *archive, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "home").rename(tmp_path / "before")
    (tmp_path / "NEW").rename(tmp_path / "home")
    assert told(tmp_path, "digest")["digest"] == digest["digest"]
    assert told(tmp_path, "top")["items"] == pages


QUESTIONS = [
    ["status"],
    ["status", "--tables"],
    ["status", "--queues"],
    ["sites"],
    ["nodes"],
    ["token", "list"],
    ["why", "https://a.com/"],
]


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with a home whose control plane an older weft made."""
    assert weft("init", "--home", "home", cwd=tmp_path).returncode == 0
    make_old(tmp_path, monkeypatch)
    return tmp_path


def make_old(place: Path, monkeypatch: pytest.MonkeyPatch, version: int = 9) -> None:
    home = Home(place / "home")
    database_of(home).unlink(missing_ok=True)
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_database, "migrations", lambda dialect: migrations(dialect)[:version])
        SqliteMgmt(database_of(home)).close()
    with closing(sqlite3.connect(database_of(home))) as connection:
        row = "INSERT INTO site (name, scope, is_excluded, seeds, settings) VALUES ('a.com', 'hosts', 0, '[]', '{}')"
        connection.execute(row)
        connection.commit()


def content(place: Path) -> str:
    assert not (place / "home/mgmt.db-wal").exists()
    return hashlib.sha256((place / "home/mgmt.db").read_bytes()).hexdigest()


def version_of(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        (version,) = connection.execute("SELECT max(version) FROM weft_schema").fetchone()
        return int(version)


def make_store_old(place: Path) -> None:
    marker = place / "home/store" / MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_bytes()), "format": 1}))


def test_questions_leave_the_control_plane_of_an_older_weft_as_it_is(old: Path) -> None:
    before = content(old)
    for question in QUESTIONS:
        refused = weft(*question, "--home", "home", cwd=old)
        assert refused.returncode == 2, question
        assert "(version 9, this one has " in one_sentence(refused)
        assert "`weft crawl`, or another command that changes something, brings it up to date" in refused.stderr
    with weft_package.open(old / "home") as index, pytest.raises(MgmtOutdated):
        index.why("https://a.com/")
    assert content(old) == before
    assert not list((old / "home").glob("mgmt.db.version-*"))


def test_a_web_app_alone_leaves_it_as_it_is(old: Path) -> None:
    before = content(old)
    with run_web(old / "home") as (_, port, said):
        with pytest.raises(HTTPError) as refused:
            urlopen(f"http://127.0.0.1:{port}/api/status", timeout=30)
        assert refused.value.code == 503
        assert b"brings it up to date" in refused.value.read()
        while "brings it up to date" not in said.read_text():
            time.sleep(0.05)  # it tries to register in the background
    assert content(old) == before


def test_a_command_that_changes_something_brings_it_up_to_date_and_keeps_what_it_was(old: Path) -> None:
    done = weft("sites", "a.com", "--exclude", "--home", "home", cwd=old)
    assert done.returncode == 0, done.stderr
    kept = old / "home/mgmt.db.version-9"
    assert done.stderr.count("\n") == 1
    assert "bringing it up to date from version 9; a copy is home/mgmt.db.version-9" in done.stderr
    assert (version_of(kept), kept.stat().st_mode & 0o777) == (9, 0o600)
    assert version_of(old / "home/mgmt.db") > 9
    assert [site["name"] for site in told(old, "sites")["items"]] == ["a.com"]
    again = weft("add", "https://c.com/", "--home", "home", cwd=old)
    assert again.returncode == 0
    assert "version-9" not in again.stderr
    assert [file.name for file in (old / "home").glob("mgmt.db.version-*")] == [kept.name]


def test_commands_that_change_the_index_alone_do_so_too(old: Path) -> None:
    (old / "pages.jsonl").write_text('{"url": "https://a.com/"}\n')
    done = weft("import", "pages.jsonl", "--home", "home", cwd=old)
    assert done.returncode == 0, done.stderr
    assert "home/mgmt.db.version-9" in done.stderr


def test_going_back_and_forth_keeps_one_copy_of_each_version(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in (9, 9, 10):
        make_old(old, monkeypatch, version)
        for file in (old / "home").glob("mgmt.db-*"):
            file.unlink() if file.is_file() else None
        assert weft("sites", "a.com", "--exclude", "--home", "home", cwd=old).returncode == 0
    assert {file.name: version_of(file) for file in (old / "home").glob("mgmt.db.version-*")} == {
        "mgmt.db.version-9": 9,
        "mgmt.db.version-10": 10,
    }


def test_nothing_is_changed_while_this_weft_cannot_open_the_store(old: Path) -> None:
    make_store_old(old)
    before = content(old)
    changes = [
        ["sites", "a.com", "--exclude"],
        ["add", "https://b.com/"],
        ["crawl"],
        ["run", "index"],
        ["run", "spider"],
    ]
    for command in [*QUESTIONS, *changes]:
        refused = weft(*command, "--home", "home", cwd=old)
        assert refused.returncode == 2, command
        assert "the store has format 1" in one_sentence(refused), command
    assert content(old) == before
    assert not list((old / "home").glob("mgmt.db.version-*"))


def test_where_the_copy_cannot_be_made_nothing_is_changed(old: Path) -> None:
    before = content(old)
    (old / "home/mgmt.db.version-9").mkdir()
    refused = weft("sites", "a.com", "--exclude", "--home", "home", cwd=old)
    assert refused.returncode == 2
    assert "it cannot be copied" in one_sentence(refused)
    assert content(old) == before
    assert not list((old / "home").glob("*.part*"))

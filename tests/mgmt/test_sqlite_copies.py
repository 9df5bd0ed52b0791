"""Copies of a SQLite control plane: whole, checked, private, two generations, and never in anybody's way."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.config import Settings
from weft.errors import MgmtDamaged, MgmtError, MgmtMissing
from weft.home import Home
from weft.mgmt import sqlite_copies
from weft.mgmt.open import open_mgmt
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import copies_of, damage_of, database_of, make_copy, newest_good_copy, put_back, set_aside
from weft.mgmt.values import NewLink
from weft.model.site import Site


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


@pytest.fixture
def mgmt(home: Home) -> Iterator[SqliteMgmt]:
    opened = SqliteMgmt(database_of(home))
    yield opened
    opened.close()


def some_links(count: int, start: int = 0) -> list[NewLink]:
    return [NewLink(f"h{n % 9}/{n}", f"https://h{n % 9}/{n}", f"h{n % 9}") for n in range(start, start + count)]


def links_in(database: Path) -> int:
    with sqlite3.connect(database) as connection:
        (count,) = connection.execute("SELECT count(*) FROM link").fetchone()
    return int(count)


def spoil(database: Path) -> None:
    """Overwrite pages in the middle, as a failing disk may."""
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(size // 3 // 4096 * 4096)
        file.write(os.urandom(size // 3))


def test_a_copy_is_whole_private_and_the_one_before_is_kept(home: Home, mgmt: SqliteMgmt) -> None:
    newest, older = copies_of(home)
    mgmt.add(some_links(10))
    assert make_copy(home) == newest
    mgmt.add(some_links(10, 10))
    make_copy(home)
    assert (links_in(newest), links_in(older)) == (20, 10)
    mgmt.add(some_links(10, 20))
    make_copy(home)
    assert (links_in(newest), links_in(older)) == (30, 20)
    assert {copy.stat().st_mode & 0o777 for copy in (newest, older)} == {0o600}
    assert newest.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(file.name for file in newest.parent.iterdir()) == ["mgmt.db", "mgmt.db.1"]


def test_writers_are_not_held_up_and_do_not_make_it_begin_again(
    home: Home, mgmt: SqliteMgmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    mgmt.add(some_links(2_000))
    steps = 0

    def write_at_every_step(seconds: float) -> None:
        nonlocal steps
        steps += 1
        mgmt.add(some_links(1, 10_000 + steps))

    monkeypatch.setattr(sqlite_copies, "_PAGES_A_STEP", 8)
    monkeypatch.setattr("weft.mgmt.sqlite_copies.time.sleep", write_at_every_step)
    make_copy(home)
    pages = copies_of(home)[0].stat().st_size // 4096
    assert 5 < steps <= pages // 8 + 2
    assert links_in(copies_of(home)[0]) == 2_000, "as of the moment it began"


def test_a_copy_that_is_stopped_leaves_nothing_and_the_last_one_as_it_was(home: Home, mgmt: SqliteMgmt) -> None:
    mgmt.add(some_links(500))
    newest = make_copy(home)
    assert newest is not None
    before = newest.read_bytes()
    stop = threading.Event()
    stop.set()
    assert make_copy(home, stop.is_set) is None
    assert newest.read_bytes() == before
    assert [file.name for file in newest.parent.iterdir()] == ["mgmt.db"]


def test_a_damaged_control_plane_never_replaces_a_good_copy(home: Home) -> None:
    with_links(home, 3_000)
    newest = make_copy(home)
    assert newest is not None
    before = newest.read_bytes()
    spoil(database_of(home))
    assert damage_of(database_of(home))
    with pytest.raises(MgmtError):
        make_copy(home)
    assert newest.read_bytes() == before
    assert newest_good_copy(home) == newest


def test_the_older_copy_is_taken_if_the_newest_is_damaged(home: Home) -> None:
    with_links(home, 3_000)
    make_copy(home)
    make_copy(home)
    newest, older = copies_of(home)
    spoil(newest)
    assert newest_good_copy(home) == older
    newest.write_bytes(b"")
    assert newest_good_copy(home) == older
    older.unlink()
    assert newest_good_copy(home) is None


def with_links(home: Home, count: int) -> None:
    mgmt = SqliteMgmt(database_of(home))
    mgmt.add(some_links(count))
    mgmt.set_sites([Site(name="h1")])
    mgmt.close()


def test_what_is_put_back_is_the_copy_and_what_was_there_is_kept(home: Home) -> None:
    with_links(home, 3_000)
    copy = make_copy(home)
    assert copy is not None
    spoil(database_of(home))
    Path(f"{database_of(home)}-wal").write_bytes(b"a log that belongs to the damaged one")
    aside = set_aside(home)
    assert aside is not None
    assert not list(home.path.glob("mgmt.db-[ws]*"))
    put_back(home, copy)
    mgmt = SqliteMgmt(database_of(home))
    assert mgmt.counts().links["pending"] == 3_000
    assert [site.name for site in mgmt.sites()] == ["h1"]
    mgmt.close()
    assert database_of(home).stat().st_mode & 0o777 == 0o600
    assert copy.exists()


def test_damage_is_a_sentence_with_the_way_out(home: Home) -> None:
    with_links(home, 3_000)
    spoil(database_of(home))
    with pytest.raises(MgmtDamaged, match=r"its file is damaged \(.*\); stop weft and run `weft restore`"):
        everything_read(home)


def everything_read(home: Home) -> None:
    mgmt = SqliteMgmt(database_of(home))
    try:
        mgmt.table("link", limit=10_000)
        mgmt.known([f"h{n % 9}/{n}" for n in range(3_000)])
    finally:
        mgmt.close()


@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("trace", ["backup/mgmt.db", "warc/weft-1.warc.gz", "mgmt.db-locks/1-1.lock"])
def test_where_one_was_none_is_made(home: Home, trace: str, is_empty: bool) -> None:
    (home.path / trace).parent.mkdir()
    (home.path / trace).write_bytes(b"x")
    if is_empty:
        database_of(home).write_bytes(b"")
    with pytest.raises(MgmtMissing, match=r"this home has been crawled; `weft restore` puts back"):
        open_mgmt(Settings(), home)
    assert not database_of(home).exists() or not database_of(home).stat().st_size


def test_in_a_new_home_one_is_made(home: Home) -> None:
    (home.path / "store").mkdir()
    open_mgmt(Settings(), home).close()
    assert database_of(home).stat().st_size


@pytest.mark.long
def test_a_large_control_plane_is_copied_while_others_write(home: Home, mgmt: SqliteMgmt) -> None:
    """300,000 links; a process that writes all the time is not held up, and the copy does not begin again."""
    for start in range(0, 300_000, 10_000):
        mgmt.add(some_links(10_000, start))
    is_over, written = threading.Event(), 0

    def write() -> None:
        nonlocal written
        while not is_over.is_set():
            written += mgmt.add(some_links(1, 1_000_000 + written))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copy = make_copy(home)
    finally:
        is_over.set()
        writer.join()
    assert copy is not None
    assert 300_000 <= links_in(copy) <= 300_000 + written
    assert written > 20
    assert not damage_of(copy)

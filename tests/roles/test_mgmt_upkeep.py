"""Upkeep of a SQLite control plane: checked after an unclean stop, copied every day, both told in the status."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.answers.status import status
from weft.cli.status import status_lines
from weft.clock import SystemClock
from weft.config import Settings
from weft.home import Home
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import copies_of, database_of
from weft.mgmt.values import NewLink
from weft.roles.mgmt_upkeep import STATUS, MgmtUpkeep
from weft.roles.status_file import last_status

DAY = 86_400


@pytest.fixture
def home(tmp_path: Path) -> Home:
    mgmt = SqliteMgmt(tmp_path / "mgmt.db")
    mgmt.add([NewLink(f"h/{n}", f"https://h/{n}", "h") for n in range(3_000)])
    mgmt.close()
    return Home(tmp_path)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def facts(home: Home) -> dict[str, object]:
    return last_status(home.path, STATUS) or {}


def spoil(database: Path) -> None:
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(size // 3 // 4096 * 4096)
        file.write(os.urandom(size // 3))


def age(home: Home, seconds: float) -> None:
    """Let the newest copy be so old."""
    moment = SystemClock().now() / 1000 - seconds
    os.utime(copies_of(home)[0], (moment, moment))


def test_a_home_without_a_copy_gets_one_at_once_and_tells_when(home: Home) -> None:
    with MgmtUpkeep(home, 0):
        until(lambda: facts(home).get("copied"))
    assert facts(home)["ended"]
    assert facts(home)["damage"] == ""
    assert copies_of(home)[0].exists()
    assert status(MemoryMgmt(), home.path, Settings()).mgmt.copied == facts(home)["copied"]


@pytest.mark.parametrize(("seconds", "is_due"), [(60, False), (DAY - 60, False), (DAY + 60, True), (-60, True)])
def test_a_copy_is_due_after_a_day_or_if_it_is_from_the_future(home: Home, seconds: int, is_due: bool) -> None:
    upkeep = MgmtUpkeep(home, 0)
    upkeep.copy()
    age(home, seconds)
    assert upkeep.is_copy_due is is_due


def test_after_an_unclean_stop_damage_is_found_told_and_not_copied(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(database_of(home))
    with MgmtUpkeep(home, 0):
        until(lambda: facts(home)["damage"])
    assert not copies_of(home)[0].exists()
    assert "is damaged (" in caplog.text
    assert "run `weft restore`" in caplog.text
    lines = status_lines(status(MemoryMgmt(), home.path, Settings()))
    assert any("the control plane is damaged (" in line and "run `weft restore`" in line for line in lines)


def test_after_a_clean_stop_nothing_is_checked(home: Home) -> None:
    with MgmtUpkeep(home, 0):
        until(lambda: facts(home).get("copied"))
    spoil(database_of(home))
    with MgmtUpkeep(home, 0) as upkeep:
        upkeep._stop.set()
    assert facts(home)["damage"] == ""


def test_a_process_that_fails_did_not_stop_cleanly(home: Home) -> None:
    with pytest.raises(RuntimeError), MgmtUpkeep(home, 0):
        raise RuntimeError
    assert not facts(home)["ended"]


def test_no_copy_is_made_where_the_disk_is_too_full(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    upkeep = MgmtUpkeep(home, least_free=1 << 62)
    upkeep.copy()
    upkeep.copy()
    assert caplog.text.count("the disk is too full for a copy") == 1
    assert not copies_of(home)[0].exists()

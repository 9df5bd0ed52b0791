"""A full disk: every command says so in one sentence, with the place and what to do; questions are answered."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft
from weft.roles.log_output import _LogFile

QUESTIONS = [["status"], ["status", "--tables"], ["sites"], ["nodes"], ["token", "list"]]
CHANGES = [
    ["init", "--home", "new"],
    ["add", "https://c.com/"],
    ["sites", "a.com", "--exclude"],
    ["rebuild"],
    ["import", "more.jsonl"],
    ["export", "links", "--output", "links.csv"],
    ["token", "create"],
    ["token", "login"],
    ["restore", "--links-only"],
    ["restore", "--without-copy"],
    ["crawl", "https://c.com/", "--no-web"],
    ["run", "index"],
    ["run", "spider"],
    ["run", "urlserver"],
]


def lines(number: int) -> str:
    return "".join(
        json.dumps({"url": f"https://a.com/{n}", "text": "w", "links": ["/x"]}) + "\n" for n in range(number)
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("home")
    (place / "pages.jsonl").write_text(lines(5))
    for command in (["init"], ["import", "pages.jsonl"], ["add", "https://a.com/"]):
        assert weft(*command, "--home", "home", cwd=place).returncode == 0
    return place / "home"


@pytest.fixture
def full(make_disk: Callable[[str], Path], home: Path) -> Path:
    """A disk with a home on it, and not a byte free."""
    disk = make_disk("24m")
    shutil.copytree(home, disk / "home")
    (disk / "more.jsonl").write_text(lines(50))
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(1 << 16))
    assert shutil.disk_usage(disk).free == 0
    return disk


def ask(place: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    return weft(*command, *([] if "--home" in command else ["--home", "home"]), cwd=place)


def test_a_full_disk_is_named_with_the_place_and_what_to_do(full: Path) -> None:
    for command in CHANGES:
        done = ask(full, command)
        assert done.returncode == 2, (command, done.stdout, done.stderr)
        said = one_sentence(done)
        assert "the disk is full" in said, (command, said)
        assert "make room" in said, (command, said)
        assert any(place in said for place in ("home", "new", "links.csv")), (command, said)
    assert not (full / "links.csv").exists()
    (full / "filler").unlink()
    for command in (["add", "https://c.com/"], ["import", "more.jsonl"], ["verify"], ["status"]):
        done = ask(full, command)
        assert done.returncode == 0, (command, done.stderr)


def test_what_the_control_plane_knows_is_told_on_a_full_disk(full: Path) -> None:
    for command in QUESTIONS:
        done = ask(full, command)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert "a.com" in ask(full, ["sites"]).stdout
    assert "free, nothing can be fetched" in ask(full, ["status"]).stdout


@pytest.mark.parametrize(
    ("point", "command"),
    [
        ("store.write.before", ["import", "more.jsonl"]),
        ("store.write.after", ["import", "more.jsonl"]),
        ("mgmt.commit.before", ["add", "https://c.com/"]),
        ("mgmt.commit.before", ["restore", "--links-only"]),
        ("export.write", ["export", "links", "--output", "links.csv"]),
        ("export.rename", ["export", "links", "--output", "links.csv"]),
        ("import.round.before", ["import", "more.jsonl"]),
    ],
)
def test_wherever_it_is_met_nobody_is_told_of_a_bug(home: Path, tmp_path: Path, point: str, command: list[str]) -> None:
    shutil.copytree(home, tmp_path / "home")
    (tmp_path / "more.jsonl").write_text(lines(50))
    done = weft(*command, "--home", "home", cwd=tmp_path, WEFT_FAIL=f"{point}:1:enospc")
    assert done.returncode == 2, done.stdout + done.stderr
    last = done.stderr.splitlines()[-1]
    assert "the disk is full" in last, done.stderr
    assert "make room" in last, done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


def test_an_import_that_cannot_be_searched_yet_says_why(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home")
    (tmp_path / "more.jsonl").write_text(lines(50))
    failing = {"WEFT_FAIL": "search.commit.before:1:enospc"}
    done = weft("import", "more.jsonl", "--home", "home", cwd=tmp_path, **failing)
    assert done.returncode == 0
    said = done.stdout.splitlines()[-1] + done.stderr
    assert "search index home/search/" in said
    assert "the disk is full; make room and try again" in said


def test_a_log_that_cannot_be_written_loses_its_events_and_says_nothing(
    full: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = _LogFile(full / "home/role.log", maxBytes=1000, backupCount=1)
    logger = logging.Logger("full")
    logger.addHandler(handler)
    for _ in range(5):
        logger.warning("event %s", "x" * 5000)
    assert capsys.readouterr() == ("", "")
    (full / "filler").unlink()
    logger.warning("there is room again")
    handler.close()
    assert "there is room again" in (full / "home/role.log").read_text()

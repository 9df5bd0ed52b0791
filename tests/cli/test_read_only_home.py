"""A home that cannot be written answers questions, also one whose crawl was killed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from support.weft_command import weft
from weft.config import Settings
from weft.home import Home
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import NodeType

READ_ONLY = "mount --bind home home && mount -o remount,ro,bind home && exec "
QUESTIONS = [
    ["status"],
    ["sites"],
    ["nodes"],
    ["why", "https://a.com/"],
    ["page", "https://a.com/"],
    ["top"],
    ["status", "--tables"],
]


def read_only(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run something while `home` is mounted read-only: root, too, must not write then."""
    words = " ".join(f"'{word}'" for word in command)
    return subprocess.run(
        ["unshare", "--mount", "--map-root-user", "bash", "-c", READ_ONLY + words],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    tried = read_only(tmp_path, "true") if shutil.which("unshare") else None
    if tried is None or tried.returncode:
        pytest.skip(f"nothing can be mounted here: {tried.stderr if tried else 'there is no unshare'}")
    assert weft("add", "https://a.com/", "--home", "home", cwd=tmp_path).returncode == 0
    return tmp_path


def ask(place: Path, *question: str) -> subprocess.CompletedProcess[str]:
    return read_only(place, sys.executable, "-m", "weft", *question, "--home", "home")


def test_questions_are_answered_and_changes_are_refused(place: Path) -> None:
    for question in QUESTIONS:
        done = ask(place, *question)
        assert (done.returncode, done.stderr) == (0, ""), question
        assert done.stdout == weft(*question, "--home", "home", cwd=place).stdout, question
    refused = ask(place, "sites", "a.com", "--exclude")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "bug" not in refused.stderr


def test_what_a_kill_left_in_the_log_of_the_control_plane_is_read(place: Path) -> None:
    with closing(open_mgmt(Settings(), Home(place / "home"))) as mgmt:
        mgmt.register(NodeType.SPIDER, "left:1")
        shutil.copytree(place / "home", place / "killed")
    shutil.rmtree(place / "home")
    (place / "killed").rename(place / "home")
    assert (place / "home/mgmt.db-wal").stat().st_size
    done = ask(place, "nodes")
    assert (done.returncode, done.stderr) == (0, "")
    assert "left:1" in done.stdout


def test_a_home_that_was_never_crawled_answers_too(place: Path) -> None:
    for file in (place / "home").glob("mgmt*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    done = ask(place, "status")
    assert (done.returncode, done.stderr) == (0, "")

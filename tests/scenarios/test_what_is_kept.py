"""A crawl with small bounds, in real processes: the archive stays small, and nothing that the index needs goes."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.validating_web import Resource, validating_web
from support.weft_command import WITHOUT_WEB, weft
from weft import open as opened
from weft.errors import NotKnown

PAGES = 6
MIB = 1 << 20
BOUND = 3 * MIB
BOUNDED = {"WEFT_ARCHIVE_KEEP_BYTES": str(BOUND), "WEFT_ARCHIVE_PRUNE_EVERY": "1", "WEFT_SPIDER_WARC_BYTES": str(MIB)}


def site(number: int) -> dict[str, Resource]:
    """Pages with 60 kB that do not become smaller, each time others."""
    links = "".join(f"<a href=/{page}>{page}</a>" for page in range(PAGES))
    pages = {f"/{page}": os.urandom(30_000).hex() for page in range(PAGES)}
    named = {path: Resource(f"<title>{number}</title><p>{text}".encode()) for path, text in pages.items()}
    return {"/": Resource(f"<title>start {number}</title>{links}".encode()), **named}


def told(place: Path, *arguments: str, **environment: str) -> dict:
    done = weft(*arguments, "--home", "home", "--json", cwd=place, **environment)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def archive_size(place: Path) -> int:
    return sum(file.stat().st_size for file in (place / "home/warc").iterdir())


def crawl_often(place: Path, times: int, **environment: str) -> None:
    with validating_web(site(0)) as web:
        web.make_home(place / "home")
        for number in range(times):
            web.resources.update(site(number))
            seeds = (web.url(),) if number == 0 else ("--again", "0")
            done = weft("crawl", *seeds, "--home", "home", cwd=place, **environment)
            assert done.returncode in (0, 1), done.stderr


def test_by_hand_the_archive_shrinks_to_what_is_needed_and_every_page_is_still_in_it(tmp_path: Path) -> None:
    crawl_often(tmp_path, 4)
    size, digest = archive_size(tmp_path), told(tmp_path, "digest")["digest"]
    keep = ("--set", "archive.keep_captures=1")
    dry = told(tmp_path, "archive", "prune", "--dry-run", *keep)
    assert archive_size(tmp_path) == size
    done = told(tmp_path, "archive", "prune", *keep)
    assert dry["captures"] == done["captures"] >= 3 * (PAGES + 1)
    assert archive_size(tmp_path) < size / 3
    archive = told(tmp_path, "verify", "--archive")
    assert (archive["differences"], archive["archive"]["dropped"]) == (0, 0)
    assert archive["archive"]["pages"] == PAGES + 1
    # An import of what is left makes the same index.
    assert weft("import", "home/warc", "--home", "copy", cwd=tmp_path).returncode == 0
    copied = weft("digest", "--home", "copy", "--json", cwd=tmp_path)
    assert json.loads(copied.stdout)["digest"] == digest
    # And so does an index that is built again from the archive.
    (tmp_path / "home/store").rename(tmp_path / "lost")
    assert weft("restore", "--new-index", "--home", "home", cwd=tmp_path).returncode == 0
    assert weft("crawl", "--home", "home", cwd=tmp_path).returncode in (0, 1)
    assert told(tmp_path, "digest")["digest"] == digest


def test_killed_at_any_step_the_archive_still_has_every_page(tmp_path: Path) -> None:
    crawl_often(tmp_path, 2)
    (tmp_path / "home").rename(tmp_path / "crawled")
    keep = ("archive", "prune", "--home", "home", "--set", "archive.keep_captures=1")
    for step in ("copied", "indexed", "switched", "unlisted", "removed"):
        shutil.copytree(tmp_path / "crawled", tmp_path / "home")
        killed = weft(*keep, cwd=tmp_path, WEFT_FAIL=f"archive.{step}:1:kill")
        assert killed.returncode == -9
        assert told(tmp_path, "verify", "--archive")["differences"] == 0
        assert weft(*keep, cwd=tmp_path).returncode == 0
        assert told(tmp_path, "verify", "--archive")["differences"] == 0
        assert not [file.name for file in (tmp_path / "home/warc").iterdir() if ".new" in file.name]
        shutil.rmtree(tmp_path / "home")


def test_while_weft_runs_the_archive_stays_within_its_bound(tmp_path: Path) -> None:
    with validating_web(site(0)) as web:
        web.make_home(tmp_path / "home")
        assert weft("add", web.url(), "--home", "home", cwd=tmp_path).returncode == 0
        quick = {"WEFT_DISPATCHER_REFRESH_MIN": "0", "WEFT_DISPATCHER_REFRESH_FIRST": "0"}
        running = subprocess.Popen(
            [sys.executable, "-m", "weft", "up", "--home", "home"],
            cwd=tmp_path,
            env={**os.environ, **WITHOUT_WEB, **BOUNDED, **quick},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            ends = time.monotonic() + 240
            for number in itertools.count(1):
                web.resources.update(site(number))
                time.sleep(0.3)
                assert time.monotonic() < ends, (archive_size(tmp_path), list((tmp_path / "home/warc").iterdir()))
                assert running.poll() is None
                if len(list((tmp_path / "home/warc").glob("*.kept"))) >= 3:
                    break
        finally:
            weft("stop", "--home", "home", cwd=tmp_path)
            running.wait(60)
    told(tmp_path, "archive", "prune", **BOUNDED)
    assert archive_size(tmp_path) <= BOUND + MIB
    assert told(tmp_path, "verify", "--archive")["differences"] == 0
    status = told(tmp_path, "status", **BOUNDED)["growth"]["parts"]["archive"]
    assert (status["bound"], status["limit"]) == ("archive.keep_bytes", BOUND)
    assert 0 < status["bytes"] <= BOUND + MIB
    line = weft("status", "--home", "home", cwd=tmp_path, **BOUNDED).stdout
    assert "archive.keep_bytes (3.1 MB)" in line


def test_the_index_in_place_of_a_lost_one_may_not_say_what_is_needed(tmp_path: Path) -> None:
    crawl_often(tmp_path, 1)
    (tmp_path / "home/store").rename(tmp_path / "lost")
    assert weft("init", "--home", "home", cwd=tmp_path).returncode == 0
    done = weft("archive", "prune", "--home", "home", "--set", "archive.keep_bytes=1", cwd=tmp_path)
    assert done.returncode == 2
    assert "alone knows what is needed" in done.stderr


def test_a_capture_that_was_dropped_is_told_as_such(tmp_path: Path) -> None:
    """As after the index was put back to an earlier state."""
    with validating_web(site(0)) as web:
        web.make_home(tmp_path / "home")
        assert weft("crawl", web.url(), "--home", "home", cwd=tmp_path).returncode in (0, 1)
        shutil.copytree(tmp_path / "home/store", tmp_path / "earlier")
        web.resources.update(site(1))
        assert weft("crawl", "--again", "0", "--home", "home", cwd=tmp_path).returncode in (0, 1)
        page = web.url("/0")
    told(tmp_path, "archive", "prune", "--set", "archive.keep_captures=1")
    shutil.rmtree(tmp_path / "home/store")
    (tmp_path / "earlier").rename(tmp_path / "home/store")
    with opened(tmp_path / "home") as index, pytest.raises(NotKnown, match="was dropped on purpose"):
        index.capture(page)
    archive = told(tmp_path, "verify", "--archive")
    assert archive["archive"]["dropped"] == PAGES + 1
    assert archive["differences"] == 0

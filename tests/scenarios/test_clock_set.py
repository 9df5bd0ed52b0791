"""A whole crawl with real processes while somebody sets the clock."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.clock_setting import ClockFile
from support.weft_command import weft
from support.whole_crawl import SETS, check_against_the_truth, check_manners, logs, served_for, told
from weft.demo.web.server.serving import Served

pytestmark = pytest.mark.long


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with served_for(tmp_path) as running:
        yield running


@pytest.fixture
def clock(tmp_path: Path) -> ClockFile:
    made = ClockFile(tmp_path / "clock")
    made.set(0)
    return made


@pytest.mark.parametrize("jump", [-3600, -80000, 3600, 90000])
def test_a_crawl_ends_with_everything_though_its_clock_is_set(
    served: Served, tmp_path: Path, clock: ClockFile, jump: int
) -> None:
    crawl = begin(tmp_path, clock, served.url(0), "--scope", "any")
    try:
        wait_for_pages(tmp_path, crawl, 10)
        clock.set(jump)
        wait_for_pages(tmp_path, crawl, 25)
        clock.set(0)
        assert crawl.wait(300) == 0, logs(tmp_path)
    finally:
        crawl.kill()
    check_against_the_truth(served, tmp_path)
    # A clock that is set ahead by a day makes what was fetched before due again, and that is all.
    check_manners(served, tmp_path, allowed_refetches=1_000)
    status = told(tmp_path, "status")
    assert status["links"].get("pending", 0) == status["links"].get("crawling", 0) == 0
    assert status["clock_jump"] is not None


def test_a_home_that_was_used_a_day_ahead_can_be_used_at_once(served: Served, tmp_path: Path, clock: ClockFile) -> None:
    clock.set(90000)
    crawl = begin(tmp_path, clock, served.url(0), "--scope", "any", "--pages", "10")
    assert crawl.wait(300) == 0, logs(tmp_path)
    assert told(tmp_path, "status")["clock_jump"]["at"] is None
    done = weft("crawl", "--home", "home", *SETS, cwd=tmp_path)
    assert done.returncode == 0, logs(tmp_path)
    check_against_the_truth(served, tmp_path)


def begin(place: Path, clock: ClockFile, *arguments: str) -> subprocess.Popen[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return subprocess.Popen(
        [sys.executable, "-m", "weft", "crawl", *arguments, "--home", "home", *SETS],
        cwd=place,
        env={**clean, **clock.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for_pages(place: Path, crawl: subprocess.Popen[bytes], pages: int) -> None:
    """Until so many pages are in the index, or the crawl is over: then the rest of the test still holds."""
    end = time.monotonic() + 120
    while time.monotonic() < end and crawl.poll() is None:
        time.sleep(0.2)
        file = place / "home/status/index.json"
        if file.exists() and (told(place, "status")["index"].get("pages") or 0) >= pages:
            return
    assert crawl.poll() is not None, logs(place)

"""`weft up` in a home without sites: it waits, and crawls the first site as soon as somebody adds it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from support.contrib_files import all_asked
from support.weft_command import one_sentence, weft
from support.whole_crawl import SETS, logs, role_processes, served_for, told
from weft import open as weft_index
from weft.config import load
from weft.home import Home
from weft.metrics.collect import home_metrics
from weft.mgmt.open import open_mgmt
from weft.roles.status_file import last_status

PATIENCE = 120.0
HOME = ("--home", "home")


def wait_until(condition: Callable[[], object], what: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what()}"
        time.sleep(0.05)


@contextmanager
def up(place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Running, with all its roles."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    with (place / "up.out").open("wb") as output:
        words = [sys.executable, "-m", "weft", "up", "--home", str(place / "home"), *SETS]
        process = subprocess.Popen(words, env=clean, cwd=place, stdout=output, stderr=output)
    try:
        wait_until(lambda: process.poll() is not None or is_waiting(place), lambda: f"its roles\n{said(place)}")
        assert process.poll() is None, said(place)
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


def is_waiting(place: Path) -> bool:
    return len(role_processes(place)) == 5 and bool((last_status(place / "home", "index") or {}).get("idle"))


def said(place: Path) -> str:
    return (place / "up.out").read_text() + logs(place)


def pages(place: Path) -> int:
    return (last_status(place / "home", "index") or {}).get("pages") or 0


def test_the_first_site_that_another_process_adds_is_crawled(tmp_path: Path) -> None:
    with served_for(tmp_path) as served, up(tmp_path):
        assert "nothing to crawl yet: this home has no seeds yet; add some with `weft add URL`" in said(tmp_path)
        assert told(tmp_path, "status")["links"] == {"pending": 0, "crawling": 0, "crawled": 0, "error": 0}
        added = weft("add", served.url(0), "--scope", "any", *HOME, cwd=tmp_path)
        assert added.returncode == 0, added.stderr
        wait_until(lambda: pages(tmp_path) >= 5, lambda: f"pages\n{said(tmp_path)}")
    assert "Traceback" not in said(tmp_path)


def test_a_home_whose_sites_are_all_excluded_waits_until_one_is_included(tmp_path: Path) -> None:
    with served_for(tmp_path) as served:
        assert weft("add", served.url(0), "--scope", "any", *HOME, cwd=tmp_path).returncode == 0
        assert weft("sites", "*", "--exclude", *HOME, cwd=tmp_path).returncode == 0
        with up(tmp_path):
            assert "nothing to crawl yet: every site of this home is excluded" in said(tmp_path)
            assert pages(tmp_path) <= 1, "the seed waited before its site was excluded"
            assert weft("sites", "*", "--no-exclude", *HOME, cwd=tmp_path).returncode == 0
            wait_until(lambda: pages(tmp_path) >= 5, lambda: f"pages\n{said(tmp_path)}")


def test_one_that_is_stopped_before_that_blames_no_seeds(tmp_path: Path) -> None:
    assert weft("init", *HOME, cwd=tmp_path).returncode == 0
    with up(tmp_path):
        pass
    assert "Crawl interrupted: 0 pages" in said(tmp_path)
    assert "seeds gave" not in said(tmp_path)


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_crawl_without_a_site_is_still_refused(tmp_path: Path, arguments: list[str]) -> None:
    assert weft("init", *HOME, cwd=tmp_path).returncode == 0
    done = weft("crawl", *arguments, *HOME, cwd=tmp_path)
    assert done.returncode == 2
    assert "nothing to crawl: this home has no seeds yet; add some with `weft add URL`" in one_sentence(done)


def test_everything_that_dashboard_and_alerts_ask_for_is_told_before_anything_happened(tmp_path: Path) -> None:
    asked = {name for each in all_asked() for name in each.names}
    assert weft("init", *HOME, cwd=tmp_path).returncode == 0
    with up(tmp_path):
        settings, missing = load(tmp_path / "home", {}, []).settings, set(asked)
        with closing(open_mgmt(settings, Home(tmp_path / "home"))) as mgmt, weft_index(tmp_path / "home") as index:

            def is_complete() -> bool:
                text = home_metrics(mgmt, index, tmp_path / "home", settings).decode()
                told_now = {re.split("[{ ]", line, maxsplit=1)[0] for line in text.splitlines() if line[:1] != "#"}
                missing.difference_update(told_now)
                return not asked - told_now

            wait_until(is_complete, lambda: f"{sorted(missing)}\n{said(tmp_path)}")

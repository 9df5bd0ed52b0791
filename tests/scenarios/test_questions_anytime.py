"""Questions about one page are answered alike while a crawl runs, after it was killed and after it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import weft as library
from support.weft_command import weft
from support.whole_crawl import PLAN, SETS, crawl, role_processes, served_for, told
from weft.roles.status_file import last_status

SMALL = replace(PLAN, hosts=2, pages=6)
SLOW = ["--set", "urlserver.req_host_per_sec=1.0"]
PATIENCE = 120.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


@contextmanager
def running_crawl(place: Path, url: str) -> Iterator[None]:
    """Killed at the end, with all its roles."""
    with (place / "crawl.out").open("wb") as output:
        command = [sys.executable, "-m", "weft", "crawl", url, "--home", str(place / "home"), *SETS, *SLOW]
        supervisor = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_until(lambda: (last_status(place / "home", "index") or {}).get("pages"), "pages")
        yield
    finally:
        for pid in (supervisor.pid, *role_processes(place).values()):
            os.kill(pid, signal.SIGKILL)
        supervisor.wait()
        wait_until(lambda: not role_processes(place), "the roles to end")


def ask(place: Path, url: str) -> None:
    """By command and in Python."""
    page = told(place, "page", url)
    assert (page["state"], page["crawled"], page["status"], page["depth"]) == ("page", True, 200, 0)
    assert (page["type"], page["bytes"] > 0, page["next_due"] > page["fetched"]) == ("text/html", True, True)
    assert told(place, "links", url, "--out")["total"] == page["outlinkcount"] > 0
    assert told(place, "why", url)["record"]["status"] == 200
    with library.open(place / "home") as index:
        assert index.page(url).title == page["title"]
        assert index.links(url).references >= page["references"]
        why = index.why(url)
        assert why.known
        assert why.control is not None
        assert (why.uri, why.control.status) == (page["uri"], 200)
        for item in index.top(limit=100).items:
            assert index.page(item.url).uri == item.uri
            assert index.why(item.url).uri == item.uri


def test_a_page_can_be_asked_about_at_any_time(tmp_path: Path) -> None:
    with served_for(tmp_path, SMALL) as served:
        url = served.url(0)
        assert weft("init", "--home", "home", cwd=tmp_path).returncode == 0
        assert weft("add", url, "--home", "home", cwd=tmp_path).returncode == 0
        assert told(tmp_path, "page", url)["state"] == "not fetched yet"
        with running_crawl(tmp_path, url):
            ask(tmp_path, url)
        ask(tmp_path, url)
        crawl(tmp_path)
        ask(tmp_path, url)
        assert weft("page", url + "/unknown", "--home", "home", cwd=tmp_path).returncode == 1

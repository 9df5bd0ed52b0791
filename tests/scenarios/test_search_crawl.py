"""`weft crawl` keeps search up to date while it runs, and complete when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.weft_command import weft
from support.whole_crawl import SETS, crawl, logs, role_processes, served_for, told
from weft.demo.web.server.serving import Served

PATIENCE = 60.0
SLOW = [*SETS, "--set", "urlserver.req_host_per_sec=2.0"]
"""So that the crawl does not end by itself."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with served_for(tmp_path) as running:
        yield running


def wait_for(condition: Callable[[], object], place: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, logs(place)
        time.sleep(0.1)


def check_search(place: Path) -> int:
    """Every page is found as the index has it; returns how many."""
    found = told(place, "verify", "--search")["search"]["row-1"]
    assert (found["differences"], found["behind"]) == (0, 0)
    return int(found["documents"])


def test_a_crawl_that_reached_its_limit_leaves_search_complete(served: Served, tmp_path: Path) -> None:
    crawl(tmp_path, served.url(0), "--scope", "any", "--pages", "30")
    assert check_search(tmp_path) >= 30
    assert told(tmp_path, "status")["search"] == []


def test_a_crawl_is_searched_while_it_runs_and_completes_search_when_it_is_interrupted(
    served: Served, tmp_path: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "weft",
            "crawl",
            served.url(0),
            "--scope",
            "any",
            "--home",
            str(tmp_path / "home"),
            *SLOW,
        ],
        env={**clean, "WEFT_MGMT_HEARTBEAT": "0.5"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def server() -> dict:
        found = told(tmp_path, "status")["search"] if (tmp_path / "home/mgmt.db").exists() else []
        return found[0] if found else {}

    try:
        wait_for(lambda: server().get("documents", 0) > 5, tmp_path)
        assert server()["shards"] == [0]
        assert "search   row 1, shard 0 of 1: " in weft("status", "--home", "home", cwd=tmp_path).stdout
        head, _, *nodes = weft("nodes", "--home", "home", cwd=tmp_path).stdout.splitlines()
        assert head.split()[-4:] == ["row", "shards", "seq", "lag"]
        assert any("Index Server" in line for line in nodes)
        # One that dies is started again, and goes on where it was.
        first, status = role_processes(tmp_path)["indexserver"], tmp_path / "home/status/indexserver.json"
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: role_processes(tmp_path).get("indexserver", first) != first, tmp_path)
        # Until it works: one that is stopped while it starts leaves search to the next run.
        status.unlink()
        wait_for(lambda: status.exists() and json.loads(status.read_text()).get("shards") == [0], tmp_path)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130, logs(tmp_path)
    finally:
        process.kill()
    assert check_search(tmp_path) > 5
    answer = json.loads(weft("search", "page", "--json", "--home", "home", cwd=tmp_path).stdout)
    assert answer["seq"] > 0

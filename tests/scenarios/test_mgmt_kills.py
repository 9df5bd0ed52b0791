"""Workers are killed and the database falls over: nothing acknowledged is lost, and all links end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from support import crawl_worker
from support.crawl_worker import open_database
from support.mgmt_audit import audit
from support.mgmt_engines import Server
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.values import NewLink

WORKER = Path(crawl_worker.__file__)
WORKERS = 3
PATIENCE = 180


class Crew:
    """Worker processes on one database, each at an address of its own."""

    def __init__(self, database: str, directory: Path) -> None:
        self.database, self._directory = database, directory
        self._stop = directory / "stop"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, address: str, fail: str = "") -> None:
        command = [sys.executable, str(WORKER), self.database, address, str(self._directory / "log"), str(self._stop)]
        self._processes[address] = subprocess.Popen(command, env={**os.environ, "WEFT_FAIL": fail})

    def kill(self, address: str) -> None:
        process = self._processes.pop(address)
        process.kill()
        process.wait()

    def wait_for_death(self, address: str, seconds: float) -> None:
        """Of a worker that is to kill itself, or that had nothing to do any more."""
        try:
            self._processes[address].wait(seconds)
        except subprocess.TimeoutExpired:
            self._processes[address].kill()
        self._processes.pop(address).wait()

    def are_well(self) -> bool:
        return all(process.poll() is None for process in self._processes.values())

    def dismiss(self) -> list[int]:
        self._stop.touch()
        return [process.wait(60) for process in self._processes.values()]

    def acknowledged(self) -> set[tuple[int, int]]:
        lines = [line.split() for line in (self._directory / "log").read_text().splitlines()]
        return {(int(line[0]), int(line[1])) for line in lines if len(line) == 2}


@pytest.fixture(params=["sqlite", "postgresql"])
def crew(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Crew]:
    is_sqlite = request.param == "sqlite"
    made = Crew(str(tmp_path / "mgmt.db") if is_sqlite else request.getfixturevalue("postgres_url"), tmp_path)
    yield made
    for process in made._processes.values():
        process.kill()
        process.wait()


def fill(mgmt: SqlMgmt, links: int) -> None:
    mgmt.add([NewLink(f"h{n % 50}/{n}", f"https://h{n % 50}/{n}", f"h{n % 50}") for n in range(links)])


def wait_for_the_end(mgmt: SqlMgmt, links: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        mgmt.reap()
        counts = mgmt.counts().links
        if counts["crawled"] + counts["error"] == links:
            return
        time.sleep(0.1)
    raise AssertionError(f"not all links ended: {mgmt.counts()}, {mgmt.nodes()}")


def check(mgmt: SqlMgmt, crew: Crew, links: int) -> None:
    audit(mgmt)
    stored = mgmt._database.read(
        lambda tx: tx.rows("SELECT \"index\", result_claim FROM link WHERE state IN ('crawled', 'error')")
    )
    assert len(stored) == links
    assert crew.acknowledged() <= set(stored), "what a worker was told is stored is stored"
    assert crew.acknowledged()


def kill_workers(crew: Crew, kills: int, links: int) -> None:
    random = Random(kills)
    mgmt = open_database(crew.database)
    assert isinstance(mgmt, SqlMgmt)
    fill(mgmt, links)
    for number in range(WORKERS):
        crew.start(f"worker:{number}")
    for number in range(kills):
        if number % 2:
            address = f"worker:{random.randrange(WORKERS)}"
            time.sleep(random.uniform(0, 0.4))
            crew.kill(address)
        else:
            address = f"short-lived:{number % 10}"
            side = random.choice(["before", "after"])
            crew.start(address, fail=f"mgmt.commit.{side}:{random.randint(2, 40)}:kill")
            crew.wait_for_death(address, 5)
            continue  # nobody comes back to this address soon: others free its work
        crew.start(address)
    wait_for_the_end(mgmt, links)
    assert crew.dismiss() == [0] * WORKERS
    check(mgmt, crew, links)
    mgmt.close()


def test_ten_kills_of_workers_lose_nothing(crew: Crew) -> None:
    kill_workers(crew, kills=10, links=6000)


@pytest.mark.long
def test_a_hundred_kills_of_workers_lose_nothing(crew: Crew) -> None:
    kill_workers(crew, kills=100, links=60_000)


@pytest.mark.parametrize("crew", ["postgresql"], indirect=True)
def test_a_database_that_falls_over_loses_nothing(crew: Crew, postgres_server: Server) -> None:
    mgmt = open_database(crew.database)
    assert isinstance(mgmt, SqlMgmt)
    fill(mgmt, 3000)
    for number in range(WORKERS):
        crew.start(f"worker:{number}")
    until = time.monotonic() + PATIENCE
    while len(mgmt.nodes()) < WORKERS and time.monotonic() < until:
        time.sleep(0.02)  # one that only starts may fail: it has promised nothing yet
    for _ in range(3):
        before = mgmt.counts().links["crawled"]
        until = time.monotonic() + PATIENCE
        while mgmt.counts().links["crawled"] < before + 100 and time.monotonic() < until:
            time.sleep(0.02)
        postgres_server.control("restart", "-m", "immediate")
        assert crew.are_well(), "workers outlive their database"
    wait_for_the_end(mgmt, 3000)
    assert crew.dismiss() == [0] * WORKERS
    check(mgmt, crew, 3000)
    mgmt.close()

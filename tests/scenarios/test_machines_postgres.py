"""PostgreSQL restarted, and cut off in the middle of a COMMIT, while three machines crawl."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.breaking_proxy import BreakingProxy
from support.machines import ROLES, Machines
from support.machines_proof import WEB, check_all, crawling_machines, one_machine
from support.mgmt_engines import Server

SLOW = {"urlserver__req_host_per_sec": 4.0}


def wait_for_share(machines: Machines, share: float) -> None:
    """Until so much of the web is crawled."""
    goal = int(one_machine(WEB).links * share)
    machines.wait_for(lambda: machines.ended() >= goal, f"{goal} links to end")


@pytest.fixture
def short_path() -> Iterator[Path]:
    """For a socket: the operating system takes no long ones."""
    with TemporaryDirectory(prefix="weft-") as directory:
        yield Path(directory)


def restart_often(place: Path, server: Server, restarts: int) -> None:
    with crawling_machines(place, server, **SLOW) as machines:
        machines.start_all()
        in_flight = 0
        for number in range(restarts):
            wait_for_share(machines, 0.9 * (number + 1) / (restarts + 1))
            server.control("restart", "-m", "immediate" if number % 2 else "fast")
            assert not machines.dead(), machines.logs()
            in_flight += machines.in_flight()
        machines.wait_for_the_end()
        # Nothing that a spider has fetched is forgotten, but a lease may end meanwhile.
        check_all(machines, refetches=in_flight)


def test_a_crawl_outlives_four_restarts_of_postgresql(tmp_path: Path, own_postgres: Server) -> None:
    restart_often(tmp_path, own_postgres, restarts=4)


@pytest.mark.long
def test_a_crawl_outlives_twenty_restarts_of_postgresql(tmp_path: Path, own_postgres: Server) -> None:
    restart_often(tmp_path, own_postgres, restarts=20)


def cut_commits(place: Path, server: Server, short_path: Path, cuts: int) -> None:
    dice = random.Random(cuts)
    with crawling_machines(place, server, **SLOW) as machines:
        proxy = BreakingProxy(machines.url, short_path)
        machines.start(*ROLES, WEFT_MGMT_URL=proxy.url)
        for number in range(cuts):
            wait_for_share(machines, 0.9 * (number + 1) / (cuts + 1))
            proxy.break_next = dice.choice(["before", "after"])
            machines.wait_for(lambda: not proxy.break_next, "a COMMIT")
        machines.wait_for_the_end()
        assert proxy.broken == cuts
        assert not machines.dead(), machines.logs()
        check_all(machines)
        machines.stop()
        proxy.close()


def test_twenty_commits_without_an_answer_are_done_exactly_once(
    tmp_path: Path, own_postgres: Server, short_path: Path
) -> None:
    cut_commits(tmp_path, own_postgres, short_path, cuts=20)

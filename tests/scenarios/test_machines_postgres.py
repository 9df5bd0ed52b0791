"""PostgreSQL restarted, and cut off in the middle of a COMMIT, while three machines crawl."""

from __future__ import annotations

import random
from pathlib import Path

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


def break_often(place: Path, server: Server, short_path: Path, restarts: int, cuts: int) -> None:
    """Between two restarts some COMMITs are cut off, of whichever process comes first."""
    dice = random.Random(cuts)
    with crawling_machines(place, server, **SLOW) as machines:
        proxy = BreakingProxy(machines.url, short_path)
        machines.start(*ROLES, WEFT_MGMT_URL=proxy.url)
        in_flight, steps = 0, restarts + cuts
        for number in range(steps):
            wait_for_share(machines, 0.9 * (number + 1) / (steps + 1))
            if number % (steps // restarts) == 1:
                server.control("restart", "-m", dice.choice(["fast", "immediate"]))
                in_flight += machines.in_flight()
            else:
                proxy.break_next = dice.choice(["before", "after"])
                machines.wait_for(lambda: not proxy.break_next, "a COMMIT")
        machines.wait_for_the_end()
        assert not machines.dead(), machines.logs()
        # Nothing that a spider has fetched is forgotten, but a lease may end during a restart.
        check_all(machines, refetches=in_flight)
        assert proxy.broken == cuts
        machines.stop()
        proxy.close()


def test_restarts_and_commits_without_an_answer_do_no_harm(
    tmp_path: Path, own_postgres: Server, short_path: Path
) -> None:
    break_often(tmp_path, own_postgres, short_path, restarts=2, cuts=8)


@pytest.mark.long
def test_many_restarts_and_commits_without_an_answer_do_no_harm(
    tmp_path: Path, own_postgres: Server, short_path: Path
) -> None:
    break_often(tmp_path, own_postgres, short_path, restarts=20, cuts=80)

"""Processes that stand still for longer than their lease, and go on as if nothing had happened."""

from __future__ import annotations

import time
from pathlib import Path

from support.machines_proof import WEB, check_all, crawling_machines, one_machine
from support.mgmt_engines import Server

LEASE = 2.0
SETTINGS = {
    "mgmt__lease": LEASE,
    "urlserver__req_host_per_sec": 4.0,
}
FROZEN = ("urlserver3", "index1", "spider2")


def test_processes_that_stand_still_beyond_their_lease_do_no_harm(tmp_path: Path, own_postgres: Server) -> None:
    links, in_flight = one_machine(WEB).links, 0
    with crawling_machines(tmp_path, own_postgres, **SETTINGS) as machines:
        machines.start_all()
        for number, name in enumerate(FROZEN):
            goal = links * (number + 1) // 6
            machines.wait_for(lambda goal=goal: machines.ended() >= goal, f"{goal} links to end")  # type: ignore[misc]
            machines.freeze(name)
            in_flight += machines.in_flight()
            machines.wait_for(lambda name=name: machines.is_given_up(name), f"the lease of {name} to end")  # type: ignore[misc]
            time.sleep(LEASE / 2)
            machines.thaw(name)
        machines.wait_for_the_end()
        assert not machines.dead(), machines.logs()
        check_all(machines, refetches=in_flight)

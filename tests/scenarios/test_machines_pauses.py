"""Processes that stand still, or do not reach PostgreSQL, for longer than their lease, and then go on."""

from __future__ import annotations

import time
from pathlib import Path

from support.breaking_proxy import BreakingProxy
from support.machines import ROLES, Machines
from support.machines_proof import WEB, check_all, crawling_machines, one_machine
from support.mgmt_engines import Server

LEASE = 2.0
SETTINGS = {"mgmt__lease": LEASE, "urlserver__req_host_per_sec": 4.0}
FROZEN = ("urlserver3", "index1", "spider2")
CUT_OFF = ("urlserver2", "spider3")


def wait_until_given_up(machines: Machines, *names: str) -> None:
    """Others have their work, and have begun with it."""
    for name in names:
        machines.wait_for(lambda name=name: machines.is_given_up(name), f"the lease of {name} to end")  # type: ignore[misc]
    time.sleep(LEASE / 2)


def wait_for_share(machines: Machines, share: float) -> None:
    goal = int(one_machine(WEB).links * share)
    machines.wait_for(lambda: machines.ended() >= goal, f"{goal} links to end")


def test_processes_that_stand_still_or_are_cut_off_beyond_their_lease_do_no_harm(
    tmp_path: Path, own_postgres: Server, short_path: Path
) -> None:
    with crawling_machines(tmp_path, own_postgres, **SETTINGS) as machines:
        way = BreakingProxy(machines.url, short_path)
        machines.start(*(name for name in ROLES if name not in CUT_OFF))
        machines.start(*CUT_OFF, WEFT_MGMT_URL=way.url)
        in_flight = 0
        for number, name in enumerate(FROZEN):
            wait_for_share(machines, (number + 1) / 7)
            machines.freeze(name)
            in_flight += machines.in_flight()
            wait_until_given_up(machines, name)
            machines.thaw(name)
        wait_for_share(machines, 0.6)
        # It still reaches its spiders: only its own clock tells it that its hosts are another's by now.
        way.may_pass.clear()
        in_flight += machines.in_flight()
        wait_until_given_up(machines, *CUT_OFF)
        way.may_pass.set()
        machines.wait_for_the_end()
        assert not machines.dead(), machines.logs()
        check_all(machines, refetches=in_flight)
        machines.stop()
        way.close()

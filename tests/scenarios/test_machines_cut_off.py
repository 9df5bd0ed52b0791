"""A machine that others cannot reach, for a while or for good: the others go on, and nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.machines import Machines
from support.machines_proof import WEB, check_all, crawling_machines, one_machine
from support.mgmt_engines import Server


def seed_all_hosts(machines: Machines) -> None:
    """So that no single page that cannot be read holds up the whole crawl."""
    machines.seed(*(machines.web.url(host) for host in range(WEB.hosts)))


def only_waits(machines: Machines) -> bool:
    """Whether all that is left to do needs records that cannot be reached."""
    counts = machines.mgmt.counts()
    is_fetched = not (counts.links.get("pending") or counts.links.get("crawling"))
    is_built = not any(counts.chunks.get(task) for task in ("crawling", "crawled", "building"))
    return is_fetched and is_built and bool(counts.chunks.get("waiting"))


def test_pages_of_a_machine_that_is_silent_or_refuses_wait_and_all_others_go_on(
    tmp_path: Path, own_postgres: Server
) -> None:
    with crawling_machines(tmp_path, own_postgres, urlserver__req_host_per_sec=15.0) as machines:
        third = machines.machines[3]
        third.records.go_silent()
        seed_all_hosts(machines)
        machines.start_all()
        machines.wait_for(lambda: machines.fetched_by(3) > 3, "a few pages of the silent machine")
        goal = machines.index_facts().get("pages", 0) + 10
        machines.wait_for(lambda: machines.index_facts().get("pages", 0) > goal, "more pages of the others")
        third.records.open()
        third.records.refuse()
        machines.wait_for(lambda: only_waits(machines), "all but one machine's pages")
        assert third.records.address in machines.index_facts()["away"]
        unread = machines.fetched_by(3)
        third.records.open()
        machines.wait_for_the_end()
        assert unread
        assert not machines.index_facts()["away"]
        check_all(machines, refetches=0)


@pytest.mark.long
def test_a_machine_may_say_nothing_for_longer_than_anybody_waits_for_a_reply(
    tmp_path: Path, own_postgres: Server
) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        machines.machines[3].records.go_silent()
        seed_all_hosts(machines)
        machines.start_all()
        machines.wait_for(lambda: only_waits(machines), "all but one machine's pages")
        machines.machines[3].records.open()
        machines.wait_for_the_end()
        check_all(machines, refetches=0)


@pytest.mark.long
@pytest.mark.parametrize("machine", [2, 3])
def test_a_machine_that_loses_its_power_loses_nothing_else(tmp_path: Path, own_postgres: Server, machine: int) -> None:
    """Its processes die, with results that nobody has read; they come back when all others have finished."""
    names = [f"spider{machine}", f"urlserver{machine}"]
    with crawling_machines(tmp_path, own_postgres, urlserver__req_host_per_sec=5.0) as machines:
        machines.machines[machine].records.refuse()
        seed_all_hosts(machines)
        machines.start_all()
        goal = one_machine(WEB).links // 3
        machines.wait_for(lambda: machines.ended() >= goal and machines.fetched_by(machine) > 3, "a third of the web")
        for name in names:
            machines.kill(name)
        in_flight = machines.in_flight()
        machines.wait_for(lambda: only_waits(machines), "all but one machine's pages")
        machines.machines[machine].records.open()
        machines.start(*names)
        machines.wait_for_the_end()
        check_all(machines, refetches=in_flight)


def test_pages_of_a_machine_that_is_gone_for_good_are_fetched_again(tmp_path: Path, own_postgres: Server) -> None:
    # Slow enough that this spider fetches some pages, and dead long before the patience ends.
    slow = {"urlserver__req_host_per_sec": 5.0, "index__archive_patience": 6.0}
    with crawling_machines(tmp_path, own_postgres, **slow) as machines:
        third = machines.machines[3]
        third.records.refuse()
        seed_all_hosts(machines)
        machines.start_all()
        machines.wait_for(lambda: machines.fetched_by(3) > 3, "a few pages of the third machine")
        machines.kill("spider3")
        machines.kill("urlserver3")
        lost = machines.fetched_by(3) + machines.in_flight()
        shutil.rmtree(third.home / "warc")
        machines.wait_for_the_end()
        report = check_all(machines, refetches=lost, gone=third.records.address)
        assert report.count("refetch") > 0

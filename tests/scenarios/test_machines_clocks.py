"""Spiders whose clocks are an hour wrong, in both directions."""

from __future__ import annotations

from pathlib import Path

from support.clock_setting import ClockFile
from support.machines import URLSERVERS, Machines
from support.machines_proof import check_all, check_index, check_manners, crawling_machines
from support.mgmt_engines import Server
from weft.demo.web.log import world_of

HOUR = 3600
AHEAD = {"spider1": HOUR, "spider2": -HOUR, "spider3": 0}


def start_with_wrong_clocks(machines: Machines) -> None:
    machines.start("index1", *URLSERVERS)
    for name, seconds in AHEAD.items():
        clock = ClockFile(machines.place / f"{name}.clock")
        clock.set(seconds)
        machines.start(name, clock=clock)


def send_to(machines: Machines, wanted: int) -> None:
    """URL servers reach this machine's spider only; the records of all can be read."""
    for number, machine in machines.machines.items():
        machine.wire.open() if number == wanted else machine.wire.refuse()


def test_clocks_that_are_an_hour_wrong_are_told_and_do_no_harm(tmp_path: Path, own_postgres: Server) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        start_with_wrong_clocks(machines)
        machines.wait_for_the_end()
        check_all(machines)
        nodes = {item["address"]: item for item in machines.told("nodes")["items"]}
        for name, seconds in AHEAD.items():
            skew = nodes[machines.of(name).records.address]["skew"] / 1000
            assert abs(skew - seconds) < 5, (name, skew)


def test_the_newer_version_of_a_page_wins_whatever_the_clocks_of_the_spiders_say(
    tmp_path: Path, own_postgres: Server
) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        changed = [machines.web.url(host) for host in range(3)]
        send_to(machines, 1)
        start_with_wrong_clocks(machines)
        machines.wait_for_the_end()
        for spider in (2, 1, 3):
            before = machines.fetched_by(spider)
            send_to(machines, spider)
            for url in changed:
                machines.web.change(url)
            machines.seed(*changed)
            machines.wait_for(lambda: machines.fetched_by(spider) > before, "a page that changed")  # noqa: B023
            machines.wait_for_the_end()
            check_index(machines)
        check_manners(machines, refetches=4 * len(changed))
        assert world_of(tmp_path / "web.log")

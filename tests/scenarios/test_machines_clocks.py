"""Spiders whose clocks are an hour wrong, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.clock_setting import ClockFile
from support.machines import NUMBERS, URLSERVERS, Machines
from support.machines_proof import check_all, check_index, check_manners, crawling_machines
from support.mgmt_engines import Server

HOUR = 3600
AHEAD = {"spider1": HOUR, "spider2": -HOUR, "spider3": 0}
CHANGED = 3
"""Hosts whose first page changes."""


def start_with_wrong_clocks(machines: Machines) -> None:
    machines.start("index1", *URLSERVERS)
    for name, seconds in AHEAD.items():
        clock = ClockFile(machines.place / f"{name}.clock")
        clock.set(seconds)
        machines.start(name, clock=clock)


def send_only_to(machines: Machines, wanted: int) -> None:
    """URL servers reach this machine's spider only; the records of all can still be read."""
    for number in NUMBERS:
        way = machines.machines[number].wire
        way.open() if number == wanted else way.refuse()


def recrawl_changed_pages(machines: Machines, spider: int) -> None:
    send_only_to(machines, spider)
    urls = [machines.web.url(host) for host in range(CHANGED)]
    for url in urls:
        machines.web.change(url)
    machines.seed(*urls)
    # Only then the crawl is under way again: a wish is no link yet.
    machines.wait_for(lambda: machines.records_of(urls) == {machines.machines[spider].records.address}, "new records")
    machines.wait_for_the_end()
    check_index(machines)


def test_clocks_that_are_an_hour_wrong_are_told_and_do_no_harm(tmp_path: Path, own_postgres: Server) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        start_with_wrong_clocks(machines)
        machines.wait_for_the_end()
        check_all(machines)
        nodes = {item["address"]: item for item in machines.told("nodes")["items"]}
        for name, seconds in AHEAD.items():
            skew = nodes[machines.of(name).records.address]["skew"] / 1000
            assert abs(skew - seconds) < 5, (name, skew)
        recrawl_changed_pages(machines, 2)
        # A page that could not be answered any more may be asked for once more.
        check_manners(machines, refetches=2 * CHANGED)


@pytest.mark.long
def test_the_newer_version_of_a_page_wins_whoever_fetched_it(tmp_path: Path, own_postgres: Server) -> None:
    with crawling_machines(tmp_path, own_postgres) as machines:
        start_with_wrong_clocks(machines)
        machines.wait_for_the_end()
        for spider in (2, 1, 3, 2, 3, 1):
            recrawl_changed_pages(machines, spider)
        check_manners(machines, refetches=12 * CHANGED)

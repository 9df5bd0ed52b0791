"""What must hold when three machines have crawled a web, whatever went wrong: one machine would have found the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.machines import Machines, three_machines
from support.mgmt_engines import Server
from support.whole_crawl import PLAN, check_against_the_truth, crawl, served_for, told
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.judge.judge import Report, judge
from weft.demo.web.judge.limits import Limits

# The port is part of every URL: two crawls of the same web need the same one. Other processes test at the same time.
WEB = replace(PLAN, addresses=8, port=20_000 + os.getpid() % 10_000)


@dataclass(frozen=True)
class Reference:
    """What one machine finds."""

    digest: str
    links: int


@cache
def one_machine(plan: WebPlan) -> Reference:
    """The index that `weft crawl` makes of this web."""
    with TemporaryDirectory(prefix="weft-one-") as directory:
        place = Path(directory)
        with served_for(place, plan) as served:
            crawl(place, served.url(0), "--scope", "any")
            check_against_the_truth(served, place)
        links = told(place, "status")["links"]
        return Reference(told(place, "digest")["digest"], sum(links.values()))


@contextmanager
def crawling_machines(place: Path, server: Server, plan: WebPlan = WEB, /, **changes: object) -> Iterator[Machines]:
    """`mgmt__lease=2.0` changes a setting of all machines. The first page of the web is already a seed."""
    one_machine(plan)  # before the same port is taken for the machines' web
    schema = server.make_schema()
    settings = {name.replace("__", "."): value for name, value in changes.items()}
    try:
        with three_machines(place, server.url(schema), plan, settings) as machines:
            machines.seed()
            yield machines
    finally:
        server.drop(schema)


def check_all(machines: Machines, *, refetches: int = 0, gone: str = "") -> Report:
    """The index, the archive, the digest of one machine, the truth, and the manners.

    `gone` is a spider that is lost with its archive.
    """
    check_index(machines, gone)
    assert machines.told("digest")["digest"] == one_machine(WEB).digest
    return check_manners(machines, refetches)


def check_index(machines: Machines, gone: str = "") -> None:
    """All other spiders must run: the records are read from their machines."""
    check_archive(machines.told("verify", "--archive"), gone)
    check_truth(machines)


def check_archive(found: dict[str, Any], gone: str = "") -> None:
    """What `weft verify --archive` told."""
    assert found["differences"] == 0, found["examples"]
    assert found["archive"]["records"] > 0
    assert found["archive"]["left_out"] == 0
    assert found["archive"]["nodes"].keys() <= {gone}, found["archive"]
    assert gone or not found["archive"]["unreachable"]


def check_truth(machines: Machines) -> None:
    try:
        check_against_the_truth(machines.web, machines.place, "machine1")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{machines.state()}\n{machines.logs()}") from error


def check_manners(machines: Machines, refetches: int) -> Report:
    machines.web.flush()
    urlserver = machines.settings.urlserver
    limits = Limits(
        host_concurrent=urlserver.req_host_concurrent,
        host_per_sec=urlserver.req_host_per_sec,
        ip_concurrent=urlserver.req_ip_concurrent,
        ip_per_sec=urlserver.req_ip_per_sec,
        allowed_refetches=refetches,
    )
    assert machines.web.log
    report = judge(machines.web.log, limits)
    assert not report.violations, [rule for rule in report.rules if rule.is_broken]
    return report

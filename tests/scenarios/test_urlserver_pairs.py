"""Two URL servers on one control plane, as processes; one is killed and its hosts are taken over quietly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.crawl_driving import Crawl, crawl_of, judged, wait_for
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with
from weft.mgmt.values import NodeState, NodeType

LEASE: dict[str, Any] = {"mgmt__lease": 4.0}


def alive(crawl: Crawl) -> set[int]:
    """Ports of the URL servers whose lease has not ended."""
    nodes = [node for node in crawl.mgmt.nodes() if node.type is NodeType.CRAWLER]
    return {int(node.address.rpartition(":")[2]) for node in nodes if node.state is not NodeState.OFFLINE}


def crawl_with_two(crawl: Crawl, *, is_one_killed: bool) -> None:
    crawl.is_paired = True
    for name in ("spider0", "spider1", "urlserver0", "urlserver1"):
        crawl.start(name)
    first, second = crawl.server_ports
    wait_for(lambda: alive(crawl) == {first, second}, crawl, "both to be registered")
    queues = json.loads(crawl.weft("status", "--queues", "--json").stdout)
    assert {item["server"] for item in queues["items"]} == {f"127.0.0.1:{first}", f"127.0.0.1:{second}"}
    wait_for(lambda: crawl.archived(0) and crawl.archived(1), crawl, "both to ask some hosts")
    in_flight = 0
    if is_one_killed:
        wait_for(lambda: crawl.ended() >= len(crawl.links) // 4, crawl, "a quarter of the links to end")
        crawl.kill("urlserver1")
        in_flight = crawl.in_flight()
        wait_for(lambda: alive(crawl) == {first}, crawl, "the killed one's lease to end")
    wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")
    crawl.stop()
    report = judged(crawl, in_flight)
    assert report.violations == 0, [rule for rule in report.rules if rule.is_broken]
    assert crawl.mgmt.counts().errors.keys() <= {"robots"}, crawl.mgmt.counts()
    assert sum(crawl.status()["links"].values()) == len(crawl.links)


PLAN = WebPlan(seed=9, hosts=24, pages=12, addresses=16, profile=profile_with("plain", []))


def test_two_on_one_sqlite_file_ask_no_host_together_and_one_takes_over(tmp_path: Path) -> None:
    with crawl_of(tmp_path, PLAN, pages=12, urlserver__req_host_per_sec=4.0, **LEASE) as crawl:
        crawl_with_two(crawl, is_one_killed=True)


def test_two_on_postgresql_ask_no_host_together_and_one_takes_over(tmp_path: Path, postgres_url: str) -> None:
    changes: dict[str, Any] = {"mgmt__url": f'"{postgres_url}"', "urlserver__req_host_per_sec": 4.0, **LEASE}
    with crawl_of(tmp_path, PLAN, pages=12, **changes) as crawl:
        crawl_with_two(crawl, is_one_killed=True)


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"])
def test_a_web_with_delays_and_refusals_is_crawled_to_the_end(tmp_path, engine_name, request) -> None:
    changes: dict[str, Any] = (
        {"mgmt__url": f'"{request.getfixturevalue("postgres_url")}"'} if engine_name == "postgresql" else {}
    )
    shares = ["robots_slow=0", "crawl_delay_seconds=0.5", "robots_failing=0", "robots_reset=0"]
    plan = WebPlan(seed=4, hosts=16, pages=5, addresses=8, profile=profile_with("robots", shares))
    with crawl_of(tmp_path, plan, pages=5, **changes) as crawl:
        crawl_with_two(crawl, is_one_killed=False)


def test_one_that_comes_in_the_middle_of_a_crawl_disturbs_nobody(tmp_path: Path) -> None:
    plan = WebPlan(seed=9, hosts=16, pages=6, addresses=8, profile=profile_with("plain", []))
    with crawl_of(tmp_path, plan, pages=6) as crawl:
        for name in ("spider0", "spider1", "urlserver0"):
            crawl.start(name)
        wait_for(lambda: crawl.ended() > 0, crawl, "a link to end")
        crawl.start("urlserver1")
        wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")
        crawl.stop()
        report = judged(crawl, 0)
        assert report.violations == 0, [rule for rule in report.rules if rule.is_broken]

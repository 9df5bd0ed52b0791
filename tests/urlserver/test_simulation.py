"""A whole web in simulated time: kills, moves, failures; an independent judge sees every request."""

from __future__ import annotations

import random

import pytest

from support.simulated_web import SimulatedWeb
from support.simulation import Simulation
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings
from weft.mgmt.api import Mgmt
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.sqlite import SqliteMgmt

BEGIN = 1_000_000_000_000
DAYS = 86_400_000


def any_settings(choose: random.Random) -> UrlserverSettings:
    """From one queue of one link to many; from one request at a time to several."""
    return UrlserverSettings(
        queue_count=choose.choice([1, 2, 5, 100]),
        queue_len=choose.choice([1, 2, 5, 50]),
        leftover_len=choose.choice([0, 3, 100]),
        max_per_ip=choose.choice([1, 5, 50]),
        spider_urls=choose.choice([1, 3, 50]),
        req_host_concurrent=choose.choice([1, 1, 2, 5]),
        req_host_per_sec=choose.choice([0.5, 1, 5]),
        req_ip_concurrent=choose.choice([1, 2, 4]),
        req_ip_per_sec=choose.choice([1, 8, 50]),
        slot_patience=choose.choice([0, 2, 30]),
        host_failures=choose.choice([2, 8]),
        timeout_spider_status=20,
        backoff_first=2,
    )


def judge(simulation: Simulation, links: int, days: int = 2) -> None:
    simulation.run(BEGIN + days * DAYS)
    assert simulation.checker.violations == []
    counts = simulation.mgmt.counts().links
    assert counts["crawled"] + counts["error"] == links
    if simulation.is_up:
        queues = simulation.frontier.registry.queues
        assert queues.queued == queues.leftovers == queues.arriving == queues.taken == 0


def small_world(seed: int) -> None:
    choose = random.Random(seed)
    clock = ManualClock(BEGIN)
    mgmt = MemoryMgmt(clock)
    hosts = choose.randrange(1, 40)
    web = SimulatedWeb(
        hosts, choose.randrange(1, 1 + hosts), choose.randrange(1, 10), seed, choose.choice([0, 0.05, 0.2])
    )
    links = mgmt.add(web.links())
    simulation = Simulation(
        web,
        mgmt,
        clock,
        any_settings(choose),
        spiders=choose.choice([1, 2, 3]),
        kills=choose.choice([0, 3, 10]),
        server_kills=choose.choice([0, 0, 2, 5]),
        moves=choose.choice([0, hosts]),
    )
    judge(simulation, links)


@pytest.mark.parametrize("seed", range(40))
def test_small_webs_under_any_settings_are_crawled_politely_to_the_end(seed):
    small_world(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 3000))
def test_many_small_webs_are_crawled_politely_to_the_end(seed):
    small_world(seed)


def large_world(mgmt: Mgmt, clock: ManualClock, hosts: int, ips: int, kills: int) -> Simulation:
    web = SimulatedWeb(hosts, ips, 4, seed=hosts)
    links = mgmt.add(web.links())
    settings = UrlserverSettings(
        queue_count=hosts // 4, queue_len=10, leftover_len=hosts // 2, timeout_spider_status=20, backoff_first=2
    )
    simulation = Simulation(web, mgmt, clock, settings, kills=kills, server_kills=kills // 3, moves=hosts // 5)
    judge(simulation, links)
    return simulation


def test_a_web_of_200_hosts_on_10_addresses_through_kills_and_moves():
    clock = ManualClock(BEGIN)
    simulation = large_world(MemoryMgmt(clock), clock, hosts=200, ips=10, kills=9)
    assert simulation.checker.requests > 700
    assert simulation.checker.most_on_ip == 4, "addresses were used to their limit"


@pytest.mark.long
def test_a_web_of_10000_hosts_on_500_addresses_through_kills_and_moves(tmp_path):
    clock = ManualClock(BEGIN)
    mgmt = SqliteMgmt(tmp_path / "mgmt.db", clock=clock)
    simulation = large_world(mgmt, clock, hosts=10_000, ips=500, kills=30)
    assert simulation.checker.requests > 30_000
    mgmt.close()

"""A URL server and two spiders, as processes, on the synthetic web: killed at random, judged by the web's own log."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from support.crawl_driving import Crawl, crawl_of, judged, wait_for
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with


def has_robots(crawl: Crawl, hosts: int) -> Callable[[], bool]:
    """What a robots.txt says is only known once its result is stored: kills begin after that.

    While redirects are followed, what is stored holds for no time.
    """

    def is_read() -> bool:
        rows = crawl.mgmt.table("robots", limit=hosts)
        return len(rows) == hosts and all(int(str(row["expires"])) > int(str(row["fetched"])) for row in rows)

    return is_read


def killed_crawl(tmp_path: Path, hosts: int, pages: int, kills: int, seed: int, spiders: int = 2) -> None:
    choose = random.Random(seed)
    shares = ["robots_slow=0", "crawl_delay_seconds=0.5"]
    plan = WebPlan(seed=seed, hosts=hosts, pages=pages, addresses=8, profile=profile_with("robots", shares))
    names = [*(f"spider{number}" for number in range(spiders)), "urlserver"]
    with crawl_of(tmp_path, plan, pages, spiders=spiders) as crawl:
        for name in names:
            crawl.start(name)
        wait_for(has_robots(crawl, hosts), crawl, "robots.txt of all hosts")
        begun, in_flight = crawl.ended(), 0
        for kill in range(kills):
            goal = begun + (len(crawl.links) - begun) * (kill + 1) // (kills + 2)
            wait_for(lambda goal=goal: crawl.ended() >= goal, crawl, f"{goal} links to end")  # type: ignore[misc]
            victim = choose.choice(names)
            crawl.kill(victim)
            in_flight += crawl.in_flight()
            crawl.start(victim)
        wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")
        crawl.stop()
        report = judged(crawl, in_flight)
        assert report.violations == 0, [rule for rule in report.rules if rule.is_broken]
        assert crawl.mgmt.counts().errors.keys() <= {"robots", "network"}, crawl.mgmt.counts()
        status = crawl.status()
        assert status["links"].get("crawled", 0) + status["links"].get("error", 0) == len(crawl.links), status
        assert sum(status["links"].values()) == len(crawl.links), status


def test_processes_killed_ten_times_crawl_politely_to_the_end(tmp_path):
    killed_crawl(tmp_path, hosts=24, pages=8, kills=10, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 102))
def test_processes_killed_a_hundred_times_crawl_politely_to_the_end(tmp_path, seed):
    killed_crawl(tmp_path, hosts=200, pages=20, kills=100, seed=seed, spiders=3)


def test_a_busy_web_is_given_the_time_that_it_asks_for(tmp_path):
    shares = ["limited=0.2", "unavailable=0.2", "retry_after_seconds=0.7", "crawl_delay_seconds=0.5", "robots_slow=0"]
    plan = WebPlan(seed=3, hosts=12, pages=6, addresses=4, profile=profile_with("busy", shares))
    with crawl_of(tmp_path, plan, pages=9) as crawl:
        for name in ("spider0", "spider1", "urlserver"):
            crawl.start(name)
        wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")
        crawl.stop()
        report = judged(crawl, 0)
        assert report.violations == 0, [rule for rule in report.rules if rule.is_broken]
        assert report.statuses[429] + report.statuses[503] > 5

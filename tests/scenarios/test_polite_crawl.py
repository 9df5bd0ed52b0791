"""A URL server and two spiders, as processes, on the synthetic web: killed at random, judged by the web's own log."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from weft.config import Settings, load
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with
from weft.demo.web.judge.judge import Report, judge
from weft.demo.web.judge.limits import Limits
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.server.serving import Served, serving
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import NewLink
from weft.model.url import UrlRules

PATIENCE = 240.0
RATES = {
    "urlserver.req_host_per_sec": 10.0,
    "urlserver.req_ip_per_sec": 40.0,
    "urlserver.backoff_first": 0.5,
    # Two cores are shared by many tests: a process may sleep for long before it begins a request.
    "urlserver.spider_lag": 1.0,
    "urlserver.crawl_delay_max": 30.0,
    "mgmt.heartbeat": 0.5,
    "mgmt.chunk_linger": 0.3,
}
"""Ten times as fast as usual, so that a test is; the rules are the same."""


@dataclass
class Crawl:
    """A home with links in it, and the processes that crawl them."""

    home: Path
    web: Served
    settings: Settings
    mgmt: Mgmt
    flags: list[str]
    spider_ports: list[int]
    links: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    said: dict[str, Path] = field(default_factory=dict)

    def start(self, name: str) -> None:
        role = name.rstrip("0123456789")
        listen = []
        if role == "spider":
            port = self.spider_ports[int(name.removeprefix("spider"))]
            listen = ["--set", f"spider.listen=127.0.0.1:{port}", "--set", f"spider.warc_dir=warc{port}"]
        log = self.said.setdefault(name, self.home / f"{name}.said")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        command = [sys.executable, "-m", "weft", "run", role, "--home", str(self.home), *self.flags, *listen]
        with log.open("ab") as output:
            self.processes[name] = subprocess.Popen(command, env=clean, stdout=output, stderr=output)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def ended(self) -> int:
        counts = self.mgmt.counts().links
        return counts["crawled"] + counts["error"]

    def requested(self) -> set[str]:
        """Pages that the web was asked for and answered."""
        self.web.flush()
        return {
            f"http://{line.host}:{line.port}{line.target}"
            for line in read_log(self.web.log)
            if isinstance(line, RequestLine)
        }

    def in_flight(self) -> int:
        """Pages that were asked for and have no stored result: what may have to be fetched again."""
        rows = self.mgmt.table("link", limit=100_000)
        return len(
            {str(row["link"]) for row in rows if row["state"] in ("crawling", "pending", None)} & self.requested()
        )

    def told(self) -> str:
        return "\n".join(f"{name}: {log.read_text()[-1500:]}" for name, log in self.said.items())


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [listener.getsockname()[1] for listener in sockets]
    finally:
        for listener in sockets:
            listener.close()


@contextmanager
def crawl_of(tmp_path: Path, plan: WebPlan, pages: int, **changes: object) -> Iterator[Crawl]:
    home, web_log = tmp_path / "home", tmp_path / "web.log"
    home.mkdir()
    with serving(plan, web_log) as web:
        (home / "weft.toml").write_text(web.settings_text())
        own, *ports = free_ports(3)
        values = {**RATES, "urlserver.listen": f'"127.0.0.1:{own}"', **changes}
        values["urlserver.spider_host"] = '"' + ",".join(f"127.0.0.1:{port}" for port in ports) + '"'
        flags = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
        settings = load(home, {}, flags[1::2]).settings
        mgmt = open_mgmt(settings, Home(home))
        crawl = Crawl(home, web, settings, mgmt, flags, ports)
        urls = [UrlRules().identify(web.url(host, page)) for host in range(plan.hosts) for page in range(pages)]
        mgmt.add([NewLink(page.uri, page.url, page.url.split("/")[2]) for page in urls])
        crawl.links = {page.url: number for number, page in enumerate(urls, 1)}
        try:
            yield crawl
        finally:
            crawl.stop()
            mgmt.close()


def wait_for(condition: Callable[[], object], crawl: Crawl, what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}: {crawl.mgmt.counts()}\n{crawl.told()}"
        time.sleep(0.05)


def judged(crawl: Crawl, allowed_refetches: int) -> Report:
    urlserver = crawl.settings.urlserver
    limits = Limits(
        host_concurrent=urlserver.req_host_concurrent,
        host_per_sec=urlserver.req_host_per_sec,
        ip_concurrent=urlserver.req_ip_concurrent,
        ip_per_sec=urlserver.req_ip_per_sec,
        crawl_delay_max=urlserver.crawl_delay_max,
        allowed_refetches=allowed_refetches,
    )
    return judge(crawl.web.log, limits)


def has_robots(crawl: Crawl, hosts: int) -> Callable[[], bool]:
    """What a robots.txt says is only known once its result is stored: kills begin after that."""
    return lambda: len(crawl.mgmt.table("robots", limit=hosts)) == hosts


def killed_crawl(tmp_path: Path, hosts: int, pages: int, kills: int, seed: int) -> None:
    choose = random.Random(seed)
    shares = ["robots_slow=0", "crawl_delay_seconds=0.5"]
    plan = WebPlan(seed=seed, hosts=hosts, pages=pages, addresses=8, profile=profile_with("robots", shares))
    with crawl_of(tmp_path, plan, pages) as crawl:
        for name in ("spider0", "spider1", "urlserver"):
            crawl.start(name)
        wait_for(has_robots(crawl, hosts), crawl, "robots.txt of all hosts")
        begun, in_flight = crawl.ended(), 0
        for kill in range(kills):
            goal = begun + (len(crawl.links) - begun) * (kill + 1) // (kills + 2)
            wait_for(lambda goal=goal: crawl.ended() >= goal, crawl, f"{goal} links to end")
            victim = choose.choice(["spider0", "spider1", "urlserver"])
            crawl.kill(victim)
            in_flight += crawl.in_flight()
            crawl.start(victim)
        wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")
        crawl.stop()
        report = judged(crawl, in_flight)
        assert report.violations == 0, [rule for rule in report.rules if rule.is_broken]
        assert crawl.mgmt.counts().errors.keys() <= {"robots", "network"}, crawl.mgmt.counts()


def test_processes_killed_ten_times_crawl_politely_to_the_end(tmp_path):
    killed_crawl(tmp_path, hosts=24, pages=8, kills=10, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 102))
def test_processes_killed_a_hundred_times_crawl_politely_to_the_end(tmp_path, seed):
    killed_crawl(tmp_path, hosts=200, pages=20, kills=100, seed=seed)


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


def test_two_url_servers_on_one_sqlite_file_never_ask_a_host_at_the_same_time(tmp_path):
    plan = WebPlan(seed=9, hosts=16, pages=6, addresses=8, profile=profile_with("plain", []))
    with crawl_of(tmp_path, plan, pages=6) as crawl:
        for name in ("spider0", "spider1", "urlserver"):
            crawl.start(name)
        wait_for(lambda: crawl.ended() > 0, crawl, "a link to end")
        (other,) = free_ports(1)
        crawl.flags += ["--set", f'urlserver.listen="127.0.0.1:{other}"']
        crawl.start("urlserver2")
        wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")
        crawl.stop()
        report = judged(crawl, 0)
        assert report.violations == 0, [rule for rule in report.rules if rule.is_broken]

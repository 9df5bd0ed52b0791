"""All roles as processes that serve their metrics, while they crawl a synthetic web full of oddities."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from support.free_ports import free_ports
from support.machines import settings_file
from support.weft_command import weft
from weft.answers.index import Index
from weft.config import load
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.server.serving import Served, serving
from weft.home import Home
from weft.metrics.collect import home_metrics
from weft.mgmt.open import open_mgmt_to_read
from weft.model.url import UrlRules
from weft.store.open import open_reader

ROLES = ("index", "spider", "indexserver", "urlserver")
WEB = "web"
"""Serves the metrics of all, and none of its own."""
TOKEN = "who-measures-knows-this"
PATIENCE = 60.0
PLAN = WebPlan(seed=3, hosts=30, pages=12, addresses=6, profile=PROFILES["all"])
FAST: dict[str, object] = {
    "mgmt.heartbeat": 0.3,
    "mgmt.lease": 5.0,
    "urlserver.req_host_per_sec": 20.0,
    "urlserver.req_ip_per_sec": 200.0,
    "urlserver.req_ip_concurrent": 50,
    "urlserver.backoff_first": 0.5,
    "dispatcher.max_depth": 3,
    "indexserver.commit_every": 0.2,
    "indexserver.memory": 16 << 20,
    "spider.min_free": 1,
    "limits.total_seconds": 3.0,
}

Samples = dict[str, list[tuple[dict[str, str], float]]]


def parsed(text: str) -> Samples:
    """By the name of the metric, with the samples of a histogram under its own."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert family.documentation.endswith("."), name
        found[name] = [(sample.labels, sample.value) for sample in family.samples]
    return found


@dataclass
class MeasuredWeft:
    home: Home
    web: Served
    token: str = ""
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, *roles: str) -> None:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
        for role in roles:
            (self.ports[role],) = free_ports("127.0.0.1", 1)
            command = [sys.executable, "-m", "weft", "run", role, "--home", str(self.home.path)]
            address = f"127.0.0.1:{self.ports[role]}"
            serving = ("--set", f'web.listen="{address}"') if role == WEB else ("--metrics", address)
            with (self.home.path / f"{role}.said").open("ab") as output:
                self.processes[role] = subprocess.Popen(
                    [*command, *serving],
                    env=clean,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )

    def get(self, role: str, path: str, token: str | None = None) -> tuple[int, str]:
        shown = self.token if token is None else token
        with closing(HTTPConnection("127.0.0.1", self.ports[role], timeout=10)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {shown}"} if shown else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def told_by(self, role: str) -> Samples:
        status, text = self.get(role, "/metrics")
        assert status == 200, text
        return parsed(text)

    def told_by_home(self) -> Samples:
        settings = load(self.home.path, {}, []).settings
        with (
            closing(open_mgmt_to_read(settings, self.home)) as mgmt,
            Index(open_reader(self.home.store, settings), UrlRules()) as index,
        ):
            return parsed(home_metrics(mgmt, index, self.home.path, settings).decode())

    def wait_for(self, what: Callable[[], object], wanted: str) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            died = [role for role, process in self.processes.items() if process.poll() is not None]
            assert not died, "\n".join((self.home.path / f"{role}.said").read_text()[-2000:] for role in died)
            try:
                if what():
                    return
            except OSError:
                pass  # not listening yet
            time.sleep(0.2)
        raise AssertionError(f"waited {PATIENCE} s for {wanted}")

    def has_counted(self, role: str, metric: str) -> bool:
        return sum(value for _, value in self.told_by(role).get(metric, [])) > 0

    def stop(self) -> None:
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def measured_weft(place: Path, token: str = "") -> Iterator[MeasuredWeft]:
    """A home that knows a web to crawl; nothing runs yet."""
    with serving(PLAN, place / "web.log") as web:
        home = Home(place / "home")
        spider, urlserver, indexserver = free_ports("127.0.0.1", 3)
        listening: dict[str, object] = {
            "spider.listen": f"127.0.0.1:{spider}",
            "urlserver.spider_host": f"127.0.0.1:{spider}",
            "urlserver.listen": f"127.0.0.1:{urlserver}",
            "indexserver.listen": f"127.0.0.1:{indexserver}",
            **({"spider.token": token} if token else {}),
        }
        home.make(settings_file(web.settings_text(), {**FAST, **listening}))
        made = weft("init", "--home", str(home.path), cwd=place)
        added = weft("add", web.url(0), "--scope", "any", "--home", str(home.path), cwd=place)
        assert (made.returncode, added.returncode) == (0, 0), made.stderr + added.stderr
        running = MeasuredWeft(home, web, token)
        try:
            yield running
        finally:
            running.stop()

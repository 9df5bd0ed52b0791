"""URL servers and spiders as processes on the synthetic web, and the judge that reads the web's own log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.free_ports import free_ports
from support.weft_command import weft
from weft.config import Settings, load
from weft.demo.web.definition.plan import WebPlan
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
    server_ports: list[int]
    links: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    said: dict[str, Path] = field(default_factory=dict)
    is_paired: bool = False
    """Whether each URL server has a spider of its own, so that one can see who asked."""

    def start(self, name: str) -> None:
        """`spider0`, `urlserver1`: the role, and which of its ports."""
        role = name.rstrip("0123456789")
        number = int(name.removeprefix(role) or 0)
        port = (self.spider_ports if role == "spider" else self.server_ports)[number]
        listen = ["--set", f'{role}.listen="127.0.0.1:{port}"']
        if role == "spider":
            listen += ["--set", f"spider.warc_dir=warc{port}"]
        elif self.is_paired:
            listen += ["--set", f'urlserver.spider_host="127.0.0.1:{self.spider_ports[number]}"']
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

    def archived(self, spider: int) -> int:
        """Bytes that a spider has archived."""
        return sum(file.stat().st_size for file in self.home.glob(f"**/warc{self.spider_ports[spider]}/**/*.warc.gz"))

    def requested(self) -> set[str]:
        """Pages that the web was asked for and answered."""
        self.web.flush()
        assert self.web.log
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

    def weft(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another command on the same home."""
        return weft(*arguments, "--home", str(self.home), *self.flags, cwd=self.home.parent)

    def status(self) -> dict[str, Any]:
        done = self.weft("status", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def told(self) -> str:
        return "\n".join(f"{name}: {log.read_text()[-1500:]}" for name, log in self.said.items())


@contextmanager
def crawl_of(tmp_path: Path, plan: WebPlan, pages: int, *, spiders: int = 2, **changes: object) -> Iterator[Crawl]:
    """Links of the first `pages` pages of every host wait; nothing runs yet. `mgmt__url="..."` changes a setting."""
    home, web_log = tmp_path / "home", tmp_path / "web.log"
    home.mkdir()
    with serving(plan, web_log) as web:
        (home / "weft.toml").write_text(web.settings_text())
        first, second, *ports = free_ports("127.0.0.1", 2 + spiders)
        values = {**RATES, **{name.replace("__", "."): value for name, value in changes.items()}}
        values["urlserver.spider_host"] = '"' + ",".join(f"127.0.0.1:{port}" for port in ports) + '"'
        flags = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
        settings = load(home, {}, flags[1::2]).settings
        mgmt = open_mgmt(settings, Home(home))
        crawl = Crawl(home, web, settings, mgmt, flags, ports, [first, second])
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
    assert crawl.web.log
    return judge(crawl.web.log, limits)

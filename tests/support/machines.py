"""Three machines on loopback addresses of their own, PostgreSQL between them, and a synthetic web that they crawl.

Machine 1 has the index and a spider; machines 2 and 3 have a URL server and a spider each. Where the index is in a
cluster, any machine may have an index process: `index2`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from support.clock_setting import ClockFile
from support.free_ports import free_ports
from support.gateway import Gateway
from support.weft_command import weft
from weft.answers.crawl_progress import CrawlProgress
from weft.config import Settings, load
from weft.config.text import toml_text
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.server.serving import Served, serving
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.values import Node, NodeState, NodeType
from weft.roles.index_ownership import index_address
from weft.roles.status_file import read_status

NUMBERS = (1, 2, 3)
SPIDERS = ("spider1", "spider2", "spider3")
URLSERVERS = ("urlserver2", "urlserver3")
ROLES = ("index1", *SPIDERS, *URLSERVERS)
PATIENCE = 150.0
TOKEN = "three-machines-know-this"
DAY = 86_400.0
COMMON: dict[str, object] = {
    "mgmt.heartbeat": 0.5,
    "mgmt.lease": 4.0,
    "mgmt.chunk_linger": 0.3,
    "urlserver.req_host_per_sec": 50.0,
    "urlserver.req_ip_per_sec": 1000.0,
    "urlserver.req_ip_concurrent": 100,
    "urlserver.backoff_first": 0.5,
    # For so long nobody else gets what was sent to a spider that cannot be reached.
    "urlserver.timeout_spider_status": 4.0,
    "spider.working_every": 1.0,
    # The truth knows every variant of a URL.
    "dispatcher.learn_parameters": False,
    "spider.token": TOKEN,
}
"""Faster than usual, so that a test is; the rules are the same."""


@dataclass(frozen=True)
class Machine:
    number: int
    home: Path
    spider: str
    """Where its spider listens."""
    urlserver: str
    indexserver: str
    wire: Gateway
    """The way by which URL servers reach its spider."""
    records: Gateway
    """The way by which others read its archive."""

    @property
    def address(self) -> str:
        return f"127.0.0.{self.number + 1}"

    @property
    def name(self) -> str:
        return f"machine{self.number}"


@dataclass
class Machines:
    """All three, and their processes by name: `index1`, `spider2`, `urlserver3`."""

    place: Path
    web: Served
    mgmt: Mgmt
    url: str
    machines: dict[int, Machine]
    settings: Settings
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def of(self, name: str) -> Machine:
        return self.machines[int(name[-1])]

    def start(self, *names: str, fail: str = "", clock: ClockFile | None = None, **settings: str) -> None:
        """`fail` arms a failpoint; `WEFT_SECTION_KEY="value"` changes a setting."""
        for name in names:
            self.processes[name] = self._begin(name, {**settings, **({"WEFT_FAIL": fail} if fail else {})}, clock)

    def _begin(self, name: str, settings: Mapping[str, str], clock: ClockFile | None) -> subprocess.Popen[bytes]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
        home = self.of(name).home
        command = [sys.executable, "-m", "weft", "run", name[:-1], "--home", str(home)]
        with (home / f"{name}.said").open("ab") as output:
            return subprocess.Popen(
                command,
                env={**clean, **(clock.environment if clock else {}), **settings},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def start_all(self) -> None:
        """Spiders first: one that starts late could find the small web crawled by the others."""
        self.start("index1", *SPIDERS)
        self.wait_for(lambda: all(map(self.node, SPIDERS)), "the spiders to register")
        self.start(*URLSERVERS)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def freeze(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGCONT)

    def wait_for_death(self, name: str) -> int:
        """Of a process that is to end by itself; returns its exit code."""
        self.wait_for(lambda: self.processes[name].poll() is not None, f"{name} to die")
        return self.processes.pop(name).returncode

    def stop(self) -> None:
        """All processes, whatever they are doing."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        self.processes.clear()

    def dead(self) -> list[str]:
        return [name for name, process in self.processes.items() if process.poll() is not None]

    def weft(self, *arguments: str, machine: int = 1) -> subprocess.CompletedProcess[str]:
        """Another command on one of the machines."""
        return weft(*arguments, "--home", str(self.machines[machine].home), cwd=self.place)

    def told(self, *arguments: str, machine: int = 1) -> dict[str, Any]:
        done = self.weft(*arguments, "--json", machine=machine)
        assert done.returncode in (0, 1), done.stderr + self.logs()
        return json.loads(done.stdout)

    def seed(self, *urls: str) -> None:
        done = self.weft("add", *(urls or (self.web.url(0),)), "--scope", "any")
        assert done.returncode == 0, done.stderr

    def ended(self) -> int:
        """Links with a result."""
        links = self.mgmt.counts().links
        return links["crawled"] + links["error"]

    def fetched_by(self, machine: int) -> int:
        """Pages whose newest record is in the archive of this machine."""
        question = "SELECT count(*) FROM link WHERE kind = 'page' AND warc_node = %s"
        with psycopg.connect(self.url) as connection:
            found = connection.execute(question, (self.machines[machine].records.address,)).fetchone()
        return int(found[0]) if found else 0

    def records_of(self, urls: Sequence[str]) -> set[str | None]:
        """Nodes that have the newest records of these pages."""
        with psycopg.connect(self.url) as connection:
            question = "SELECT warc_node FROM link WHERE kind = 'page' AND link = ANY(%s)"
            return {node for (node,) in connection.execute(question, (list(urls),))}

    def index_facts(self, machine: int = 1) -> dict[str, Any]:
        """What the index process tells of itself."""
        return read_status(self.machines[machine].home, "index") or {}

    def node(self, name: str) -> Node | None:
        """As the control plane knows it."""
        machine = self.of(name)
        settings = load(machine.home, {}, []).settings
        kind, address = {
            "spider": (NodeType.SPIDER, machine.records.address),
            "urlserver": (NodeType.CRAWLER, machine.urlserver),
            "index": (NodeType.INDEX_BUILDER, index_address(settings, Home(machine.home))),
        }[name[:-1]]
        return next((node for node in self.mgmt.nodes() if node.type is kind and node.address == address), None)

    def is_given_up(self, name: str) -> bool:
        """Whether its lease has ended."""
        node = self.node(name)
        return node is not None and node.state is NodeState.OFFLINE

    def in_flight(self) -> int:
        """Pages that were asked for and have no result: what may have to be asked for again."""
        self.web.flush()
        assert self.web.log
        lines = (line for line in read_log(self.web.log) if isinstance(line, RequestLine))
        asked = {f"http://{line.host}:{line.port}{line.target}" for line in lines}
        rows = self.mgmt.table("link", limit=100_000)
        return len({str(row["link"]) for row in rows if row["state"] in ("crawling", "pending", None)} & asked)

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"waited in vain for {what}\n{self.state()}\n{self.logs()}"
            time.sleep(0.05)

    def wait_for_the_end(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        end = EndOfCrawl(self.mgmt, *(machine.home for machine in self.machines.values()))

        def is_over() -> bool:
            meanwhile()
            return end.is_reached()

        self.wait_for(is_over, "the end of the crawl")

    def state(self) -> str:
        robots = self.mgmt.table("robots", limit=50)
        lines = [self.mgmt.counts(), self.mgmt.nodes(), *map(self.index_facts, NUMBERS), f"robots: {robots}"]
        return "\n".join(map(str, [*lines, f"dead: {self.dead()}"]))

    def logs(self) -> str:
        files = sorted(self.place.glob("machine*/*.said"))
        return "\n".join(f"--- {file.name}:\n{file.read_text(errors='replace')[-3000:]}" for file in files)


class EndOfCrawl:
    """Nothing waits anywhere, and nothing follows: what `weft crawl` waits for, without giving up on slow hosts."""

    def __init__(self, mgmt: Mgmt, *homes: Path) -> None:
        """`homes` are those in which the index process may run."""
        self._progress = [CrawlProgress(mgmt, home, home, least_free=0, patience=DAY) for home in homes]

    def is_reached(self) -> bool:
        for progress in self._progress:
            progress.look()
        return any(progress.is_over for progress in self._progress)


@contextmanager
def three_machines(place: Path, url: str, plan: WebPlan, changes: Mapping[str, object]) -> Iterator[Machines]:
    """Nothing runs yet but the web; `changes` are settings of all machines, such as `{"mgmt.lease": 2.0}`."""
    with ExitStack() as stack:
        web = stack.enter_context(serving(plan, place / "web.log"))
        machines = {number: _machine(number, place, stack) for number in NUMBERS}
        hosts = ",".join(machine.wire.address for machine in machines.values())
        common = {**COMMON, "mgmt.url": url, "urlserver.spider_host": hosts, **changes}
        for machine in machines.values():
            _furnish(machine, web, common)
        settings = load(machines[1].home, {}, []).settings
        mgmt = PostgresMgmt(url, settings.mgmt)
        stack.callback(mgmt.close)
        made = Machines(place, web, mgmt, url, machines, settings)
        stack.callback(made.stop)
        yield made


def _machine(number: int, place: Path, stack: ExitStack) -> Machine:
    address = f"127.0.0.{number + 1}"
    ports = free_ports(address, 3)
    spider, urlserver, indexserver = ports[0], *(f"{address}:{port}" for port in ports[1:])
    wire, records = Gateway((address, spider)), Gateway((address, spider))
    stack.callback(wire.close)
    stack.callback(records.close)
    home = place / f"machine{number}"
    return Machine(number, home, f"{address}:{spider}", urlserver, indexserver, wire, records)


def _furnish(machine: Machine, web: Served, common: Mapping[str, object]) -> None:
    own = {
        "mgmt.machine": machine.name,
        "spider.listen": machine.spider,
        "spider.address": machine.records.address,
        "urlserver.listen": machine.urlserver,
        "indexserver.listen": machine.indexserver,
    }

    machine.home.mkdir(mode=0o700, parents=True)
    (machine.home / "weft.toml").write_text(settings_file(web.settings_text(), {**common, **own}))


def settings_file(begun: str, more: Mapping[str, object]) -> str:
    """A weft.toml with what `begun` says and these settings."""
    sections: dict[str, dict[str, object]] = tomllib.loads(begun)
    for name, value in more.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    return "\n".join(_section(name, keys) for name, keys in sections.items())


def _section(name: str, keys: Mapping[str, object]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {toml_text(value)}\n" for key, value in keys.items())

"""The URL server: its decisions in simulated time at many sizes, and hosts kept busy by a running one.

The simulation drives the real frontier with links, addresses and answers; every send and end is written down and judged
afterwards by NumPy, which knows nothing of the frontier. The running URL server is `weft run urlserver` on SQLite with
a spider that only waits: what is measured is how late hosts are asked. Run by `weft bench urlserver`.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from measuring import Stopwatch
from weft.config.sections import UrlserverSettings
from weft.mgmt.values import ClaimedLink, DocId, LinkState, Outcome
from weft.urlserver.frontier import Frontier
from weft.urlserver.in_flight import SpiderId
from weft.urlserver.mgmt_messages import HostAddress
from weft.urlserver.origin_robots import OriginRules
from weft.urlserver.returns import ReturnReason
from weft.urlserver.schedule import TimerWheel
from weft.wire import Fetch

URLS_PER_HOST = 10
HOSTS_PER_IP = 5
FOREVER = 1 << 60
SPIDER = SpiderId(0)


class Result(msgspec.Struct):
    hosts: int
    bytes_per_host: float
    bytes_per_url: float
    sends: int
    wall: float
    cpu: float
    violations: int


class Simulation:
    """A frontier full of hosts, and answers that come after 50 to 300 ms."""

    def __init__(self, hosts: int) -> None:
        settings = UrlserverSettings(queue_count=hosts, queue_len=100, spider_urls=1_000_000)
        self.hosts = hosts
        self.frontier = Frontier(settings)
        self.politeness = self.frontier.registry.politeness
        self.now = 1000
        self.frontier.own(range(256), self.now)
        self.frontier.in_flight.connect(SPIDER)
        self.answers: TimerWheel[Fetch] = TimerWheel()
        choose = random.Random(1)
        self.latencies = [choose.randrange(50, 300) for _ in range(1024)]
        self.sent_at, self.sent_doc = array("q"), array("q")
        self.ended_doc, self.ended_at = array("q"), array("q")

    def fill(self) -> tuple[float, float]:
        """Bytes per host (with no links) and per URL."""
        before = resident()
        self._offer(range(1))
        first = resident()
        self._offer(range(1, URLS_PER_HOST))
        last = resident()
        per_url = (last - first) / self.hosts / (URLS_PER_HOST - 1)
        return (first - before) / self.hosts - per_url, per_url

    def _offer(self, pages: range) -> None:
        known = OriginRules(None, FOREVER, 60_000)
        for number in range(self.hosts):
            name = f"www.site{number:07d}.example"
            self.frontier.offer([self._link(number, name, page) for page in pages], self.now)
            if not pages.start:
                ip = "10.{}.{}.{}".format(*(number // HOSTS_PER_IP).to_bytes(3))
                self.frontier.locate(name, HostAddress(ip, ip, FOREVER), self.now)
                self.frontier.registry.hosts[name].https = known
        self.frontier.requests.take()

    def _link(self, host: int, name: str, page: int) -> ClaimedLink:
        doc_id = DocId(host * URLS_PER_HOST + page)
        return ClaimedLink(doc_id, f"https://{name}/section/page{page:04d}.html", name, 1)

    def run(self, sends: int) -> None:
        while len(self.sent_at) < sends:
            moments = self.frontier.next_moment(may_send=True), self.answers.next_moment()
            self.now = max(self.now + 1, min(moment for moment in moments if moment is not None))
            self._answer()
            for _, fetch in self.frontier.due(self.now):
                self._send(fetch)
            self.frontier.registry.forget(self.now)

    def _send(self, fetch: Fetch) -> None:
        self.answers.add(self.now + self.latencies[len(self.sent_at) & 1023], fetch)
        self.sent_at.append(self.now)
        self.sent_doc.append(fetch.doc_id)

    def _answer(self) -> None:
        while (fetch := self.answers.take(self.now)) is not None:
            self.frontier.in_flight.done(SPIDER, fetch.trans_id, self.now)
            outcome = Outcome(doc_id=DocId(fetch.doc_id), claim=1, state=LinkState.CRAWLED, status=200)
            self.frontier.come_back(fetch.trans_id, ReturnReason.DONE, outcome, self.now)
            self.ended_doc.append(fetch.doc_id)
            self.ended_at.append(self.now)

    def violations(self) -> int:
        """Gaps and concurrency of hosts and addresses, from what was written down alone."""
        starts = dict(zip(self.sent_doc, self.sent_at, strict=True))
        ends = dict(zip(self.ended_doc, self.ended_at, strict=True))
        docs = np.fromiter(starts, np.int64, len(starts))
        begin = np.fromiter(starts.values(), np.int64, len(starts))
        end = np.array([ends.get(int(doc), FOREVER) for doc in docs])
        host = docs // URLS_PER_HOST
        rude = _too_soon(host, begin, end, self.politeness.host_gap)
        rude += _too_often(host // HOSTS_PER_IP, begin, self.politeness.ip_gap)
        return rude + _too_many(host // HOSTS_PER_IP, begin, end, self.politeness.ip_concurrent)


def _too_soon(who: np.ndarray, begin: np.ndarray, end: np.ndarray, gap: int) -> int:
    order = np.lexsort((begin, who))
    same = who[order][1:] == who[order][:-1]
    return int((same & (begin[order][1:] < end[order][:-1] + gap)).sum())


def _too_often(who: np.ndarray, begin: np.ndarray, gap: int) -> int:
    order = np.lexsort((begin, who))
    same = who[order][1:] == who[order][:-1]
    return int((same & (np.diff(begin[order]) < gap)).sum())


def _too_many(who: np.ndarray, begin: np.ndarray, end: np.ndarray, most: int) -> int:
    """Starts add one, ends take one away; at one moment ends come first."""
    people, moments = np.concatenate((who, who)), np.concatenate((begin, end))
    steps = np.concatenate((np.ones_like(begin), -np.ones_like(end)))
    order = np.lexsort((steps, moments, people))
    running = np.cumsum(steps[order])
    first = np.flatnonzero(np.diff(people[order], prepend=-1))
    base = np.repeat(running[first] - steps[order][first], np.diff(np.append(first, len(order))))
    return int((running - base > most).sum())


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def simulate(hosts: int, sends: int) -> Result:
    gc.freeze()
    simulation = Simulation(hosts)
    per_host, per_url = simulation.fill()
    watch = Stopwatch()
    simulation.run(sends)
    watch.stop()
    return Result(hosts, per_host, per_url, len(simulation.sent_at), watch.wall, watch.cpu, simulation.violations())


def run_apart(hosts: int, sends: int) -> Result:
    """In a process of its own, so that memory and caches are."""
    command = [sys.executable, __file__, "--one", str(hosts), str(sends)]
    return msgspec.json.decode(subprocess.run(command, check=True, capture_output=True).stdout, type=Result)


def report_simulation(quick: bool) -> Iterator[str]:
    sizes = {10_000: 90_000, 100_000: 500_000} if quick else {10_000: 90_000, 100_000: 900_000, 1_000_000: 3_000_000}
    results = [run_apart(hosts, sends) for hosts, sends in sizes.items()]
    yield f"{URLS_PER_HOST} URLs a host, {HOSTS_PER_IP} hosts an address, answers after 50-300 ms, 1 request/s a host"
    yield "\n| hosts | URLs | bytes/host | bytes/URL | sends/s | CPU µs/send | of 10k | violations |"
    yield "|---|---|---|---|---|---|---|---|"
    base = results[0].cpu / results[0].sends
    for r in results:
        cost = r.cpu / r.sends
        yield (
            f"| {r.hosts:,} | {r.hosts * URLS_PER_HOST:,} | {r.bytes_per_host:.0f} | {r.bytes_per_url:.0f}"
            f" | {r.sends / r.wall:,.0f} | {cost * 1e6:.1f} | {cost / base:.2f}x | {r.violations} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=2, type=int, metavar=("HOSTS", "SENDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(msgspec.json.encode(simulate(*options.one)).decode())
        return
    for line in report_simulation(options.quick):
        print(line, flush=True)
    from urlserver_running import report_running

    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        for line in report_running(directory, hosts=200 if options.quick else 1000, seconds=8 if options.quick else 25):
            print(line, flush=True)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()

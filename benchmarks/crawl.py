"""The whole pipeline over a synthetic web: fetch, archive, parse, link index, schedule.

Run by `weft bench crawl`: `--quick` takes about 2,000 pages, `--long` 200,000, otherwise 10,000. Politeness is set
so that it is not the limit; every process of weft counts, the parse workers and the supervisor too. Scrapy follows the
same links in the same run and keeps nothing; not with `--long`, where it would take an hour.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from measuring import disk_used
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.server.serving import Served, serving

_TICK = os.sysconf("SC_CLK_TCK")
_PART = 10_000
_SETTLED = 3.0
"""Seconds after which a role has loaded what it needs."""
HURRY = {
    "WEFT_URLSERVER_REQ_HOST_PER_SEC": "1000.0",
    "WEFT_URLSERVER_REQ_HOST_CONCURRENT": "4",
    "WEFT_URLSERVER_REQ_IP_PER_SEC": "100000.0",
    "WEFT_URLSERVER_REQ_IP_CONCURRENT": "200",
    "WEFT_MGMT_CHUNK_SIZE": "500",
}


class Memory(NamedTuple):
    """Of one role: when it had been up for a moment, at most, and when it was last seen."""

    begin: int
    peak: int
    end: int


class Watch:
    """CPU and memory of every process below one, by role, as far as they could be seen."""

    def __init__(self) -> None:
        self.cpu: dict[tuple[str, int], float] = {}
        self.memory: dict[str, Memory] = {}
        self.freshness = Freshness()
        self._began = time.monotonic()

    def look(self, root: int) -> None:
        for pid in _below(root):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if not words[0]:
                # It has ended, or has not begun: whatever it is, its name is gone, and its time is counted under that.
                continue
            role = _role(words)
            self.cpu[role, pid] = (int(fields[11]) + int(fields[12])) / _TICK
            now = int(fields[21]) * resource.getpagesize()
            known = self.memory.get(role, Memory(now, now, now))
            begin = now if time.monotonic() - self._began < _SETTLED else known.begin
            self.memory[role] = Memory(begin, max(known.peak, now), now or known.end)

    def by_role(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for (role, _), seconds in self.cpu.items():
            found[role] = found.get(role, 0.0) + seconds
        return found


def _role(words: list[str]) -> str:
    if "run" in words:
        return words[words.index("run") + 1]
    return "parse workers" if any(word.endswith(("_process", ".worker")) for word in words) else "supervisor"


def _below(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents.get(one, [])
    return found


class Freshness:
    """Seconds from the end of a fetch to the answers, of every 10,000 fetches: the status tells of the last ones."""

    def __init__(self) -> None:
        self.parts: dict[int, dict[str, float]] = {}

    def look(self, status: dict[str, Any]) -> None:
        if (part := status["results"] // _PART) and status["freshness"]["p50"] is not None:
            self.parts.setdefault(part, status["freshness"])

    def text(self, name: str) -> str:
        found = sorted(part[name] for part in self.parts.values())
        return (
            f"{name} of each {_PART:,}: median {found[len(found) // 2]:.1f} s, worst {found[-1]:.1f} s" if found else ""
        )


def crawl(
    served: Served, directory: Path, settings: dict[str, str] | None = None
) -> tuple[Watch, float, dict[str, Any]]:
    """`settings` are environment variables."""
    home = directory / "home"
    home.mkdir()
    (home / "weft.toml").write_text(served.settings_text())
    environment = {**os.environ, **HURRY, **(settings or {}), "WEFT_HOME": str(home)}
    command = [sys.executable, "-m", "weft", "crawl", served.url(0), "--scope", "any"]
    began, watch = time.monotonic(), Watch()
    with (directory / "crawl.out").open("wb") as output:
        running = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        last: dict[str, Any] = {}
        while running.poll() is None:
            watch.look(running.pid)
            with contextlib.suppress(OSError, ValueError):
                last = json.loads((home / "status/index.json").read_bytes())
                watch.freshness.look(last)
            time.sleep(0.1)
    seconds = time.monotonic() - began
    if running.returncode:
        raise SystemExit((directory / "crawl.out").read_text())
    return watch, seconds, last


def scrapy(served: Served) -> dict[str, float]:
    told = {"start": served.url(0), "addresses": {host.name: host.address for host in served.world.all_hosts()}}
    command = [sys.executable, str(Path(__file__).with_name("crawl_scrapy.py"))]
    done = subprocess.run(command, input=json.dumps(told), capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    hosts, pages = (40, 50) if options.quick else (1000, 200) if options.long else (100, 100)
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        with serving(WebPlan(hosts=hosts, pages=pages, addresses=20, profile=PROFILES["plain"])) as served:
            watch, seconds, status = crawl(served, directory)
            _print(watch, seconds, status, directory / "home")
            if not options.long:
                _print_scrapy(watch, status.get("pages") or 1, scrapy(served))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _print(watch: Watch, seconds: float, status: dict[str, Any], home: Path) -> None:
    pages = status.get("pages") or 1
    cpu = watch.by_role()
    print(f"{pages:,} pages in {seconds:.1f} s, starting and stopping included: {pages / seconds:.0f} pages/s\n")
    print("| role | CPU ms per page | memory after a moment, MB | at most | at the end |\n|---|---|---|---|---|")
    for role, used in sorted(cpu.items(), key=lambda item: -item[1]):
        memory = " | ".join(f"{size / 2**20:.0f}" for size in watch.memory[role])
        print(f"| {role} | {used / pages * 1000:.2f} | {memory} |")
    print(f"| all | {sum(cpu.values()) / pages * 1000:.2f} | | | |")
    print(f"\nfreshness, seconds from the end of a fetch to the answers: {status.get('freshness')}")
    for name in ("p50", "p99"):
        print(watch.freshness.text(name))
    print(f"bytes on disk per page: {disk_used(home) / pages:,.0f}, archive included")


def _print_scrapy(watch: Watch, pages: int, found: dict[str, float]) -> None:
    ours, theirs = sum(watch.by_role().values()) / pages, found["cpu"] / found["pages"]
    print(
        f"\nScrapy, fetch and follow: {found['pages']:,.0f} pages in {found['wall']:.1f} s, {theirs * 1000:.2f} ms CPU"
    )
    print(f"weft, the whole pipeline: {ours / theirs:.2f} of Scrapy's CPU per page")


if __name__ == "__main__":
    main()

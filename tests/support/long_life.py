"""`weft up` for months of a clock that jumps ahead whenever nothing is to do, and measures of all that may grow."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from support.changing_site import DAY, ChangingSite
from support.clock_setting import ClockFile
from support.whole_crawl import logs, role_processes
from weft.config import load
from weft.store.open import open_reader
from weft.store.tables import Table

STEP: Final = 23 * 3600.0
"""Seconds of one jump: a lease may last a day."""
GAP: Final = 0.04
"""Seconds between two requests to one host."""
LONGEST_GAP: Final = 0.5
"""The same after a host refused again and again: nobody waits a minute for each page here."""
SET_BY: Final = 1800.0
"""Seconds by which the wall clock is set at most."""
KEEP_DAYS: Final = 30
PATIENCE: Final = 25.0
LEAST_FREE: Final = 24 << 20
_SETTINGS: Final = f"""\
[urlserver]
{{site}}req_host_per_sec = {1 / GAP}
req_ip_per_sec = 1000.0
backoff_first = 1.0
backoff_max = {DAY}
crawl_delay_max = {LONGEST_GAP}

[mgmt]
heartbeat = 0.5
lease = {DAY}
chunk_linger = 0.1

[dispatcher]
refresh_first = {3 * DAY}
refresh_min = {2 * DAY}
refresh_max = {20 * DAY}

[index]
keep_days = {KEEP_DAYS}

[indexserver]
commit_every = 0.2

[spider]
min_free = {LEAST_FREE}
warc_bytes = {4 << 20}

[store]
write_buffer_bytes = {1 << 20}
wal_bytes = {2 << 20}

[web]
listen = "127.0.0.1:0"
"""
Sample = dict[str, float]


@dataclass
class Life:
    place: Path
    site: ChangingSite
    clock: ClockFile
    dice: random.Random
    samples: list[Sample] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    """What was done to it, by name."""
    impatient: list[str] = field(default_factory=list)
    """When it was not at rest in time, and why."""
    _process: subprocess.Popen[bytes] | None = None
    _web: str = ""

    @property
    def home(self) -> Path:
        return self.place / "home"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def begin(self) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "weft.toml").write_text(_SETTINGS.format(site=self.site.settings))
        added = self._weft("add", self.site.start, "--scope", "any").communicate(timeout=60)
        assert (self.home / "mgmt.db").exists(), added
        self._up()

    def _up(self) -> None:
        with (self.place / "up.out").open("wb") as output:
            self._process = self._weft("up", output=output)
        end = time.monotonic() + 60
        while time.monotonic() < end and "Web app: " not in self.said():
            if self.process.poll() is not None:  # what is left of the one before has not ended yet
                return self._up()
            time.sleep(0.05)
        self._web = self.said().partition("Web app: ")[2].split()[0]
        return None

    def _weft(self, *words: str, output: Any = subprocess.PIPE) -> subprocess.Popen[bytes]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        command = [sys.executable, "-m", "weft", *words, "--home", str(self.home)]
        return subprocess.Popen(command, env={**clean, **self.clock.environment}, stdout=output, stderr=output)

    def said(self) -> str:
        return (self.place / "up.out").read_text(errors="replace")

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(60)
            self._process.kill()
        for pid in role_processes(self.place).values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # Time passes.

    def live(self, days: float, *, trouble: float, sample_every: int) -> None:
        """So many days; with a probability of `trouble`, something goes wrong at each jump."""
        until, steps = self.site.day() + days, 0
        while self.site.day() < until:
            self.clock.pass_time(STEP)
            undo = self._trouble() if self.dice.random() < trouble else None
            if undo is not None:
                time.sleep(self.dice.uniform(0.2, 2.0))
                undo()
            self.rest()
            self._ask()
            steps += 1
            if steps % sample_every == 0:
                self.samples.append(self.measured())

    def rest(self) -> None:
        """Until nothing waits, nothing is under way, and nothing follows; or for as long as patience lasts."""
        end, quiet, why = time.monotonic() + PATIENCE, None, ""
        while time.monotonic() < end:
            assert self.process.poll() is None, self.said() + logs(self.place)
            why = self._under_way()
            now = self.clock.since_boot() * 1000
            told = self._told("index").get("idle")
            if why or not told:
                quiet, why = None, why or "the index process works"
            elif quiet is None:
                quiet = now
            elif told["since"] <= quiet <= told["looked"]:
                return
            time.sleep(0.05)
        self.impatient.append(f"day {self.site.day():.0f}: {why or 'the index process tells nothing'}")

    def _under_way(self) -> str:
        now = int(self.clock.wall() * 1000)
        questions = {
            "links wait": f"SELECT coalesce(sum(pending), 0) FROM pending_host WHERE ready_at <= {now}",
            "chunks are fetched": "SELECT count(*) FROM crawler WHERE c_task = 'crawling' OR offered = 1",
            "chunks are built": "SELECT count(*) FROM index_builder WHERE ib_task = 'building'",
        }
        with suppress(sqlite3.OperationalError), closing(self._mgmt()) as mgmt:
            return ", ".join(what for what, sql in questions.items() if mgmt.execute(sql).fetchone()[0])
        return "the control plane cannot be read"

    def _mgmt(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self.home / 'mgmt.db'}?mode=ro", uri=True, timeout=5)

    def _told(self, role: str) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            found = json.loads((self.home / "status" / f"{role}.json").read_bytes())
            return found if isinstance(found, dict) else {}
        return {}

    def _ask(self) -> None:
        """Somebody looks at the web app."""
        for path in ("/api/status", "/api/search?q=damo", "/"):
            with suppress(OSError), urllib.request.urlopen(self._web.rstrip("/") + path, timeout=10) as answer:
                answer.read()
                self.done["asked"] += 1

    # Trouble.

    def _trouble(self) -> Callable[[], None] | None:
        """Something goes wrong; returns what ends it, if it does not end by itself."""
        name = self.dice.choice(["kill", "kill", "stop", "kill supervisor", "stop supervisor", "full", "set", "set"])
        self.done[name] += 1
        return {
            "kill": lambda: self._signal_role(signal.SIGKILL),
            "stop": lambda: self._signal_role(signal.SIGTERM),
            "kill supervisor": lambda: self._restart(signal.SIGKILL),
            "stop supervisor": lambda: self._restart(signal.SIGTERM),
            "full": self._fill,
            "set": self._set,
        }[name]()

    def _signal_role(self, number: signal.Signals) -> None:
        time.sleep(self.dice.uniform(0, 1.5))
        running = role_processes(self.place)
        if running:
            with suppress(ProcessLookupError):
                os.kill(running[self.dice.choice(sorted(running))], number)

    def _restart(self, number: signal.Signals) -> None:
        time.sleep(self.dice.uniform(0, 1.5))
        self.process.send_signal(number)
        if number == signal.SIGTERM and self.dice.random() < 0.3:
            time.sleep(self.dice.uniform(0, 2))
            self.process.kill()
        self.process.wait(90)
        self._up()

    def _fill(self) -> Callable[[], None]:
        """Nothing is left of the disk, or less than is needed to fetch."""
        filler, left = self.place / "filler", self.dice.choice([0, LEAST_FREE // 2])
        free = os.statvfs(self.place).f_bavail * os.statvfs(self.place).f_frsize
        with suppress(OSError), filler.open("wb") as file:
            while free > left:
                file.write(bytes(min(1 << 20, free - left)))
                file.flush()
                free -= 1 << 20
        return lambda: filler.unlink(missing_ok=True)

    def _set(self) -> None:
        self.clock.set(self.dice.choice([-SET_BY, 0, 0, SET_BY]))

    # What may grow.

    def measured(self) -> Sample:
        found: Sample = {"day": self.site.day(), "fetches": len(self.site.requests)}
        found["known URLs"] = len({(each.host, each.path) for each in self.site.requests})
        found |= self._files() | self._rows() | self._cells() | self._processes()
        told = self._told("urlserver")
        found |= {f"queue: {name}": float(told.get(name, 0)) for name in ("queued", "leftovers", "arriving")}
        return found

    def _files(self) -> Sample:
        found = Counter[str]()
        for file in self.home.rglob("*"):
            with suppress(OSError):
                if file.is_file():
                    part = file.relative_to(self.home)
                    top = part.parts[0] if len(part.parts) > 1 else part.name
                    found[f"bytes: {top}"] += file.stat().st_size
                    found[f"files: {top}"] += 1
        return dict(found)

    def _rows(self) -> Sample:
        with closing(self._mgmt()) as mgmt:
            tables = [name for (name,) in mgmt.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {f"rows: {name}": mgmt.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}

    def _cells(self) -> Sample:
        with open_reader(self.home / "store", load(self.home, {}, []).settings) as reader:
            return {f"cells: {table.label}": sum(1 for _ in reader.encoded_rows(table)) for table in Table}

    def _processes(self) -> Sample:
        found: Sample = {}
        for name, pid in {**role_processes(self.place), "up": self.process.pid}.items():
            with suppress(OSError):
                facts = dict(
                    line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
                )
                found[f"memory: {name}"] = int(facts["VmRSS"].split()[0]) * 1024
                found[f"threads: {name}"] = int(facts["Threads"])
                found[f"descriptors: {name}"] = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return found


YOUNGEST: Final = 32
"""Files of the store that are merged at once; each start of the writer makes one, and readers hold all of them."""
SLACK: Final = {
    "bytes": 3 << 20,
    "files": YOUNGEST,
    "rows": 30,
    "cells": 60,
    "memory": 16 << 20,
    "threads": 6,
    "descriptors": 2 * YOUNGEST,
    "queue": 20,
}
"""By how much something may be more in the end, however little it is."""
MOST_GROWTH: Final = 1.2
BOUNDED: Final = {"bytes: mgmt.db-wal": 36 << 20}
"""What may come up to a limit at any time: SQLite reuses its log from 8,192 pages on, and removes it with each stop."""
OF_FETCHES: Final = (
    *("bytes: warc", "files: warc", "bytes: mgmt.db", "bytes: backup"),
    *("rows: chunk", "rows: crawler", "rows: index_builder", "rows: index_server"),
)
"""What is kept of every fetch, for as long as the settings say."""
OF_LATE_FETCHES: Final = ("cells: changes", "cells: feed")
"""What is kept of what fetches found, for a number of days."""
OF_URLS: Final = (
    *("rows: link", "cells: links", "cells: query", "cells: fluo", "cells: docs"),
    *("bytes: store", "bytes: search"),
)
"""What is kept of every URL that was ever linked to."""


def grown(samples: list[Sample]) -> dict[str, tuple[float, float]]:
    """What was more in the last quarter of the time than in the second, or more of each fetch, or of each URL.

    Returns the means in both.
    """
    early, late = _quarter(samples, 1), _quarter(samples, 3)
    found = {}
    for name in sorted({name for sample in samples for name in sample if ": " in name}):
        reason = "fetches" if name in OF_FETCHES else "known URLs" if name in OF_URLS else ""
        more = _mean(late, reason) / _mean(early, reason) if reason else 1.0
        if name in OF_LATE_FETCHES:
            more = max(1.0, _fetches_a_day(late) / _fetches_a_day(early))
        before, after = _mean(early, name), _mean(late, name)
        if (
            after > BOUNDED.get(name, 0)
            and after > before * more * MOST_GROWTH
            and after - before * more > SLACK[name.partition(":")[0]]
        ):
            found[name] = (before, after)
    return found


def _quarter(samples: list[Sample], number: int) -> list[Sample]:
    size = len(samples)
    return samples[size * number // 4 : size * (number + 1) // 4]


def _fetches_a_day(samples: list[Sample]) -> float:
    first, last = samples[0], samples[-1]
    return (last["fetches"] - first["fetches"]) / (last["day"] - first["day"])


def _mean(samples: list[Sample], name: str) -> float:
    return sum(sample.get(name, 0.0) for sample in samples) / max(1, len(samples))

"""How fast the web app answers while the index is written: ten million links, real sockets, wrk as the load.

    weft bench web

One process writes rounds without a pause, as an import does, on a core of its own; the web app and wrk share the other.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from linkindex_contestants import _reworked, bulk
from measuring import percentile
from weft.actions.complete_search import complete_search
from weft.config import load, starter
from weft.config.sections import IndexSettings
from weft.home import Home
from weft.linkindex.pipeline import LinkIndex
from weft.model.url import Uri, url_of
from weft.store.open import open_reader
from weft.store.rocksdb import RocksStore
from workload import Web

SECONDS: Final = 12
CONNECTIONS: Final = 4
PATHS: Final = 500
"""Different questions of each kind."""
KINDS: Final = ("top", "domain", "links", "page", "search", "page as HTML")
_SCRIPT: Final = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local at = 0
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at])
end
local bad = 0
done = function(summary, latency, requests)
  io.write(string.format("took %%f %%f %%f %%d %%d\\n", latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    latency.max / 1000, summary.requests, summary.errors.status + summary.errors.timeout + summary.errors.read))
end
"""


class Measured(NamedTuple):
    kind: str
    p50: float
    """Milliseconds, as the other two."""
    p99: float
    worst: float
    requests: int
    failed: int
    """Timeouts, broken connections, and statuses from 400 on. A page that a round has just removed is 404."""


def main() -> None:
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing (Debian: apt install wrk)")
    pages = 10_000 if "--quick" in sys.argv else 250_000
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        home = _built(Path(directory), pages)
        with _serving(home) as port:
            _print("nothing is written", [_load(port, kind, pages) for kind in KINDS])
            with _writing(home, pages):
                _print("rounds are written", [_load(port, kind, pages) for kind in KINDS])
                _print_fresh(port)


def _built(directory: Path, pages: int) -> Home:
    home = Home(directory / "home")
    home.make(starter())
    built = bulk(pages, directory)
    (directory / "bulk").rename(home.store)
    settings = load(home.path, {}, []).settings
    with open_reader(home.store, settings) as reader:
        complete_search(home, settings, reader, print, lambda _: None)
    print(f"{built.pages:,} pages, {built.links:,} links, {CONNECTIONS} connections, {SECONDS} s each\n", flush=True)
    return home


@contextmanager
def _serving(home: Home) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    sets = ("--set", f'web.listen="127.0.0.1:{port}"', "--set", "web.rate=1000000.0")
    words = [sys.executable, "-m", "weft", "run", "web", "--home", str(home.path), *sets]
    process = subprocess.Popen(_on_first_core(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _on_first_core(words: list[str]) -> list[str]:
    return ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *words]


@contextmanager
def _writing(home: Home, pages: int) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    writer = context.Process(target=_write, args=(home.store, pages, theirs))
    writer.start()
    mine.recv()
    try:
        yield
    finally:
        writer.terminate()
        writer.join()


def _write(store: Path, pages: int, told: Connection) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with RocksStore(store) as opened:
        index = LinkIndex(opened, IndexSettings())
        told.send("ready")
        while True:
            for batch in _reworked(pages):
                index.apply(batch)


def _paths(kind: str, pages: int) -> list[str]:
    dice, web = random.Random(1), Web(pages)
    numbers = [min(int(dice.paretovariate(0.7)), pages - 1) for _ in range(PATHS)]
    urls = [url_of(Uri(web.uri(number).decode())) for number in numbers]
    made = {
        "top": ["/api/top"],
        "domain": [f"/api/top?domain={url.split('/')[2]}" for url in urls],
        "links": [f"/api/links?url={quote(url, safe='')}" for url in urls],
        "page": [f"/api/page?url={quote(url, safe='')}" for url in urls],
        "search": [f"/api/search?q=section{number % 37:02}+page{number:07}" for number in numbers],
        "page as HTML": [f"/top?domain={url.split('/')[2]}" for url in urls],
    }
    return made[kind]


def _load(port: int, kind: str, pages: int) -> Measured:
    with (
        tempfile.NamedTemporaryFile("w", suffix=".txt") as paths,
        tempfile.NamedTemporaryFile("w", suffix=".lua") as script,
    ):
        paths.write("\n".join(_paths(kind, pages)) + "\n")
        paths.flush()
        script.write(_SCRIPT % paths.name)
        script.flush()
        words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script.name, f"http://127.0.0.1:{port}"]
        printed = subprocess.check_output(_on_first_core(words), text=True)
    found = re.search(r"took ([\d.]+) ([\d.]+) ([\d.]+) (\d+) (\d+)", printed)
    if found is None:
        sys.exit(f"wrk printed something else:\n{printed}")
    p50, p99, worst, requests, failed = found.groups()
    return Measured(kind, float(p50), float(p99), float(worst), int(requests), int(failed))


def _print(title: str, rows: Sequence[Measured]) -> None:
    print(f"| {title} | requests/s | p50 ms | p99 ms | worst ms | failed |\n|---|---|---|---|---|---|")
    for row in rows:
        rate = row.requests / SECONDS
        print(
            f"| {row.kind} | {rate:,.0f} | {row.p50:.1f} | {row.p99:.1f} | {row.worst:.1f} | {row.failed} |", flush=True
        )
    print()


def _print_fresh(port: int) -> None:
    """How long the answers stand still between two looks at what was written."""
    seen, changes = "", list[float]()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            told = answer.read().decode()
        if told != seen:
            seen = told
            changes.append(time.monotonic())
        time.sleep(0.01)
    gaps = [later - earlier for earlier, later in pairwise(changes)]
    if gaps:
        print(f"answers move on every {percentile(gaps, 0.5):.2f} s (p99 {percentile(gaps, 0.99):.2f} s)")


if __name__ == "__main__":
    main()

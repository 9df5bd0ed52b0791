"""The site patterns served by a real server and crawled by `weft crawl`: measured by the log and the links table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from rules_measuring import Measured, measure
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.patterns.pattern import Pattern
from weft.demo.web.patterns.sites import EXTRA_SITES
from weft.demo.web.server.serving import serving
from weft.dispatcher.link_records import LINK, LinkPhase, decode_record
from weft.model.refusal import RefusalKind
from weft.store.rocksdb import RocksReader
from weft.store.tables import Table

HURRY = {
    "urlserver.req_host_per_sec": "100.0",
    "urlserver.req_ip_per_sec": "1000.0",
    "urlserver.req_ip_concurrent": "100",
}
"""Our own servers may be asked often."""

Targets = defaultdict[str, list[str]]
"""Paths with queries, by host."""


def crawl(
    patterns: Iterable[Pattern], seed: int, place: Path, sets: Mapping[str, str] = HURRY, seconds: float = 300
) -> dict[str, Measured]:
    """Serve the web of all patterns, crawl these from their first pages, and measure each; by their hosts."""
    chosen = list(patterns)
    home, log = place / "home", place / "web.log"
    home.mkdir(parents=True)
    plan = WebPlan(seed=seed, hosts=1, pages=1, addresses=8, extra_sites=EXTRA_SITES)
    with serving(plan, log) as served:
        (home / "weft.toml").write_text(served.settings_text())
        urls = [f"http://{pattern.host}:{served.plan.port}/" for pattern in chosen]
        _weft("crawl", *urls, "--home", str(home), "--seconds", f"{seconds:g}", sets=sets, output=place / "crawl.out")
        served.flush()
    fetched = _fetched(log)
    hidden, waiting = _links(home / "store")
    return {
        each.host: measure(each.server(seed), fetched[each.host], hidden[each.host], waiting[each.host])
        for each in chosen
    }


def _weft(*arguments: str, sets: Mapping[str, str], output: Path) -> None:
    options = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    with output.open("wb") as file:
        command = [sys.executable, "-m", "weft", *arguments, *options]
        subprocess.run(command, env=clean, stdout=file, stderr=file, check=True)


def _fetched(log: Path) -> Targets:
    found = Targets(list)
    for line in read_log(log):
        if isinstance(line, RequestLine) and line.kind != "robots":
            found[line.host].append(line.target)
    return found


def _links(store: Path) -> tuple[Targets, Targets]:
    """What rules hid, and what still waits."""
    hidden, waiting = Targets(list), Targets(list)
    with RocksReader(store) as reader:
        for cell in reader.scan_rows(Table.LINKS, b"l:"):
            if cell.family != LINK:
                continue
            record = decode_record(cell.value)
            parts = urlsplit(record.url)
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            if record.refused_as is RefusalKind.PARAMETERS:
                hidden[parts.hostname or ""].append(target)
            elif record.phase in (LinkPhase.NEW, LinkPhase.GIVEN):
                waiting[parts.hostname or ""].append(target)
    return hidden, waiting

"""A home whose pages are fetched and wait to be built, and the index process over it, watched from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from weft.archive.archive_writer import ArchiveWriter
from weft.archive.warc_records import Exchange
from weft.config import Settings
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import Lease, NewLink, NodeType, Result, WarcPosition
from weft.model.host import web_host_of
from weft.model.site import Site
from weft.model.url import UrlRules
from weft.roles.status_file import last_status

HTML = "text/html; charset=utf-8"
RULES = UrlRules()


def fill_home(home: Path, pages: Iterable[tuple[str, bytes]], chunk: int = 20) -> int:
    """Make a home in which these pages were fetched just now, as chunks of so many; returns how many there are."""
    Home(home).make("")
    count = 0
    with closing(open_mgmt(Settings(), Home(home))) as mgmt:
        mgmt.set_sites([Site(name="none.example")])
        crawler = mgmt.register(NodeType.CRAWLER, "crawler")
        archive = ArchiveWriter(home / Settings().spider.warc_dir)
        waiting: dict[str, bytes] = {}
        for url, body in pages:
            waiting[url] = body
            count += 1
            if len(waiting) == chunk:
                _fetch(mgmt, crawler, archive, waiting)
                waiting = {}
        if waiting:
            _fetch(mgmt, crawler, archive, waiting)
    return count


def _fetch(mgmt: Mgmt, crawler: Lease, archive: ArchiveWriter, bodies: dict[str, bytes]) -> None:
    mgmt.add([NewLink(RULES.identify(url).uri, url, web_host_of(url)) for url in bodies])
    chunk = mgmt.claim(crawler, len(bodies))
    assert chunk is not None
    assert len(chunk.links) == len(bodies)
    now = int(time.time() * 1000)
    results = []
    for link in chunk.links:
        exchange = Exchange(
            url=link.url, ip="192.0.2.1", started=now, request=b"GET / HTTP/1.1\r\n\r\n",
            head=f"HTTP/1.1 200 OK\r\nContent-Type: {HTML}\r\n\r\n".encode(), body=bodies[link.url], status=200,
            content_type=HTML,
        )  # fmt: skip
        position = WarcPosition("spider", *archive.store([exchange])[0])
        result = Result(doc_id=link.doc_id, claim=link.claim, status=200, position=position, started=now, ended=now)
        results.append(msgspec.structs.replace(result, content_type=HTML))
    assert all(mgmt.report(results))


def peak_of(process: subprocess.Popen[Any]) -> int:
    """Bytes of memory that it held at most."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


class WatchedIndex:
    """A running index process."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self._home, self._process = home, process

    @property
    def peak(self) -> int:
        """Bytes of memory that it held at most."""
        return peak_of(self._process)

    def until_built(self, results: int, seconds: float) -> dict[str, Any]:
        """Wait until so many fetches are loaded; returns its last status."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self._process.poll() is None, "it ended by itself"
            facts = last_status(self._home, "index") or {}
            if facts.get("results", 0) >= results:
                return facts
            time.sleep(0.2)
        raise AssertionError(f"not built in {seconds} s: {last_status(self._home, 'index')}")


@contextmanager
def index_process(home: Path, *arguments: str) -> Iterator[WatchedIndex]:
    with role_process(home, "index", *arguments) as process:
        yield WatchedIndex(home, process)


@contextmanager
def role_process(home: Path, role: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    command = [sys.executable, "-m", "weft", "run", role, "--home", str(home), *arguments]
    with (home / f"{role}.out").open("wb") as output:
        process = subprocess.Popen(command, env=clean, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)

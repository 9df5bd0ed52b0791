"""A running URL server with a spider that only waits: how busy are the hosts kept?"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from weft.config import load
from weft.home import Home
from weft.mgmt.api import Mgmt
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import DocId, NewLink, Result, WarcPosition
from weft.wire import Fetch, LineSplitter, decode_request

PORT = 8080
TICK = 0.02
"""Seconds between two groups of results."""


@dataclass
class WaitingSpider:
    """Answers every URL after 50 to 150 ms, in ticks; notes when each host was asked and answered."""

    mgmt: Mgmt
    asked: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    answered: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _ended: list[Fetch] = field(default_factory=list)

    async def serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._talk, sock=listener)
        async with server:
            await server.serve_forever()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop, lines, choose = asyncio.get_running_loop(), LineSplitter(), random.Random(1)
        answering = loop.create_task(self._answer(writer))
        try:
            while data := await reader.read(65536):
                now = time.monotonic()
                for line in lines.feed(data):
                    fetch = decode_request(line)
                    if isinstance(fetch, Fetch):
                        self.asked[host_of(fetch)].append(now)
                        loop.call_later(choose.uniform(0.05, 0.15), self._end, fetch)
        except asyncio.CancelledError:
            pass  # the time is over
        finally:
            answering.cancel()

    def _end(self, fetch: Fetch) -> None:
        self._ended.append(fetch)

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        while True:
            await asyncio.sleep(TICK)
            ended, self._ended = self._ended, []
            if ended:
                await asyncio.to_thread(self._store, ended)
                now = time.monotonic()
                for fetch in ended:
                    self.answered[host_of(fetch)].append(now)
                writer.write(b"".join(f"{fetch.trans_id} DONE\n".encode() for fetch in ended))

    def _store(self, ended: list[Fetch]) -> None:
        details = self.mgmt.details([DocId(fetch.doc_id) for fetch in ended])
        position = WarcPosition("127.0.0.1:1", "0.warc.gz", 0, 1)
        status = {fetch.doc_id: 404 if fetch.url.endswith("/robots.txt") else 200 for fetch in ended}
        self.mgmt.report(
            [
                Result(doc_id=doc_id, claim=each.claim, status=status[doc_id], position=position)
                for doc_id, each in details.items()
            ]
        )


def host_of(fetch: Fetch) -> str:
    return fetch.url.split("/", 3)[2]


def report_running(directory: Path, hosts: int, seconds: int) -> Iterator[str]:
    mgmt, flags, listener = _prepare(directory, hosts, seconds)
    command = [sys.executable, "-m", "weft", "run", "urlserver", "--home", str(directory), *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        spider = asyncio.run(_drive(mgmt, listener, hosts, seconds))
        cpu = _cpu_seconds(process.pid)
    finally:
        process.terminate()
        process.wait()
        mgmt.close()
    yield from _told(spider, hosts, cpu)


def _prepare(directory: Path, hosts: int, seconds: int) -> tuple[Mgmt, list[str], socket.socket]:
    names = [f"site{number:04d}.test" for number in range(hosts)]
    table = "".join(
        f'"{name}" = "127.1.{number // 4 // 250}.{number // 4 % 250}"\n' for number, name in enumerate(names)
    )
    text = f'[urlserver]\nallow_net = ["127.0.0.0/8"]\nallow_ports = [{PORT}]\n\n[urlserver.static_hosts]\n{table}'
    (directory / "weft.toml").write_text(text)
    listener = socket.create_server(("127.0.0.1", 0))
    with socket.create_server(("127.0.0.1", 0)) as own:
        addresses = [("spider_host", listener.getsockname()[1]), ("listen", own.getsockname()[1])]
    flags = [part for name, port in addresses for part in ("--set", f'urlserver.{name}="127.0.0.1:{port}"')]
    mgmt = open_mgmt(load(directory, {}, flags[1::2]).settings, Home(directory))
    pages = [f"{name}:{PORT}/{page}" for page in range(seconds + 5) for name in names]
    mgmt.add([NewLink(page, f"http://{page}", page.partition("/")[0]) for page in pages])
    return mgmt, flags, listener


async def _drive(mgmt: Mgmt, listener: socket.socket, hosts: int, seconds: int) -> WaitingSpider:
    """Until every host was asked, then for `seconds` more."""
    spider = WaitingSpider(mgmt)
    serving = asyncio.create_task(spider.serve(listener))
    async with asyncio.timeout(120):
        while len(spider.asked) < hosts:
            await asyncio.sleep(0.1)
    await asyncio.sleep(seconds)
    serving.cancel()
    return spider


def _told(spider: WaitingSpider, hosts: int, cpu: float) -> Iterator[str]:
    allowed = taken = 0.0
    for host, asked in spider.asked.items():
        for start, end, again in zip(asked, spider.answered[host], asked[1:], strict=False):
            allowed += end - start + 1.0
            taken += again - start
    urls = sum(map(len, spider.asked.values()))
    span = max(max(times) for times in spider.asked.values()) - min(min(times) for times in spider.asked.values())
    yield f"\n{hosts:,} hosts at 1 request/s each, 4 an address, results stored in SQLite every {TICK * 1000:.0f} ms"
    yield "\n| requests/s | hosts kept busy | URL server, CPU µs/URL |\n|---|---|---|"
    yield f"| {urls / span:,.0f} | {allowed / taken:.1%} of the allowed rate | {cpu / urls * 1e6:.0f} |"


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

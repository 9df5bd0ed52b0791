"""The spider, with WARC files and durable results, beside Scrapy, aiohttp and bare libcurl on the same pages.

Run by `weft bench fetch`. Every contestant is a process of its own; its CPU time is measured, not that of the server.
The spider is `weft run spider` with its control plane in SQLite; this program speaks the URL server's lines to it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import msgspec

from fetch_web import host_of, url_of
from weft.config import starter
from weft.home import Home
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import NewLink, NodeType

HERE = Path(__file__).parent
OUTSTANDING = 400
SPIDER = "weft spider (WARC, durable results)"
LIGHT = ("raw pycurl", "aiohttp")
HEAVY = ("Scrapy, fetch only", "Scrapy, fetch and follow", "Scrapy tuned, fetch and follow")
BASE = "Scrapy, fetch and follow"


class Took(msgspec.Struct):
    pages: int
    wall: float
    cpu: float

    @property
    def cpu_micros(self) -> float:
        return self.cpu / self.pages * 1e6


@contextmanager
def web(pages: int, certificate: str = "") -> Iterator[int]:
    command = [sys.executable, str(HERE / "fetch_web.py"), str(pages), *([certificate] if certificate else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def other(name: str, port: int, pages: int, fetches: int, kind: str, certificate: str) -> Took:
    command = [sys.executable, str(HERE / "fetch_others.py"), name, str(port), str(pages), str(fetches), kind]
    output = subprocess.run([*command, certificate], check=True, capture_output=True).stdout
    return msgspec.json.decode(output.splitlines()[-1], type=Took)


def spider(port: int, pages: int, fetches: int, kind: str, certificate: str) -> Took:
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        return asyncio.run(_spider(Home(directory / "home"), port, pages, fetches, kind, certificate))
    finally:
        shutil.rmtree(directory)


async def _spider(home: Home, port: int, pages: int, fetches: int, kind: str, certificate: str) -> Took:
    home.make(starter())
    mgmt = SqliteMgmt(home.path / "mgmt.db")
    asked = _claimed(mgmt, port, pages, fetches, kind, "https" if certificate else "http")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "weft", "--home", str(home.path), "run", "spider"),
        *("--set", 'spider.listen="127.0.0.1:0"', "--set", 'urlserver.allow_net=["127.0.0.0/8"]'),
        *("--set", "spider.min_free=0", "--set", f'spider.ca_file="{certificate}"'),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().split()[-1]
    reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
    wall, cpu = perf_counter(), cpu_of(process.pid)
    waiting, done = iter(asked), 0
    writer.writelines(line for _, line in zip(range(OUTSTANDING), waiting, strict=False))
    while done < len(asked):
        lines = (await reader.read(65536)).count(b"DONE\n")
        done += lines
        writer.writelines(line for _, line in zip(range(lines), waiting, strict=False))
    took = Took(done, perf_counter() - wall, cpu_of(process.pid) - cpu)
    process.send_signal(signal.SIGTERM)
    await process.wait()
    failed = mgmt.counts().errors
    mgmt.close()
    if failed:
        raise SystemExit(f"fetches failed: {failed}")
    return took


def _claimed(mgmt: SqliteMgmt, port: int, pages: int, fetches: int, kind: str, scheme: str) -> list[bytes]:
    """The lines to send, one for each link of a chunk that is ours."""
    crawler = mgmt.register(NodeType.CRAWLER, "127.0.0.1:1")
    urls = [f"{url_of(number % pages, port, scheme, kind)}?{number // pages}" for number in range(fetches)]
    mgmt.add([NewLink(uri=url, url=url, web_host=url.split("/")[2]) for url in urls])
    chunk = mgmt.claim(crawler, limit=fetches)
    assert chunk is not None
    ids = {link.url: link.doc_id for link in chunk.links}
    # In the order of the URLs, host by host in turn, as the others fetch them too.
    return [f"{ids[url]} {ids[url]} {host_of(number % pages)} {url}\n".encode() for number, url in enumerate(urls)]


def cpu_of(process: int) -> float:
    """CPU seconds of a running process, all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(pages: int, fetches: int, certificate: str) -> Iterator[str]:
    yield f"{pages:,} different pages of 30 KB with 40 links, gzip, 20 hosts; light contestants fetch {fetches:,}"
    yield _heading("keep-alive", "fetch and follow")
    with web(pages) as port:
        took = {SPIDER: spider(port, pages, fetches, "p", "")}
        took |= {name: other(name, port, pages, fetches, "p", "") for name in LIGHT}
        took |= {name: other(name, port, pages, pages, "p", "") for name in HEAVY}
        yield from _rows(took, took[BASE])
        yield _heading("a new connection for each page", "fetch only")
        yield from _all(port, pages, fetches // 2, "c", "")
    with web(pages, certificate) as port:
        yield _heading("TLS, a new connection for each page", "fetch only")
        yield from _all(port, pages, fetches // 8, "c", certificate)


def _heading(what: str, base: str) -> str:
    return f"\n| {what} | pages/s | CPU µs/page | CPU, of Scrapy's {base} |\n|---|---|---|---|"


def _all(port: int, pages: int, fetches: int, kind: str, certificate: str) -> Iterator[str]:
    took = {SPIDER: spider(port, pages, fetches, kind, certificate)}
    took |= {name: other(name, port, pages, fetches, kind, certificate) for name in LIGHT}
    took |= {HEAVY[0]: other(HEAVY[0], port, pages, pages // 2, kind, certificate)}
    yield from _rows(took, took[HEAVY[0]])


def _rows(took: dict[str, Took], base: Took) -> Iterator[str]:
    for name, one in took.items():
        ratio = base.cpu_micros / one.cpu_micros
        yield f"| {name} | {one.pages / one.wall:,.0f} | {one.cpu_micros:,.0f} | 1/{ratio:.1f} |"


def make_certificate(directory: Path) -> str:
    """A certificate for all hosts of the benchmark that is its own authority."""
    file = directory / "certificate.pem"
    names = ",".join(f"IP:{host_of(number)}" for number in range(20))
    kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    about = ("-subj", "/CN=bench", "-addext", f"subjectAltName={names}")
    command = ["openssl", "req", *kind, *about, "-keyout", str(file), "-out", f"{file}.crt"]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return str(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    pages, fetches = (200, 3000) if options.quick else (3000, 30_000)
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        for line in compare(pages, fetches, make_certificate(directory)):
            print(line, flush=True)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()

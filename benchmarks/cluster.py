"""An index in Cassandra beside an embedded one in the same run: what a link and a page cost, and how answers fare.

Run by `weft bench cluster`. It starts PostgreSQL and Cassandra itself, one node with one copy of each cell and three
nodes with three copies, all on this machine: it needs Java 17, Maven for the first time, and 5 GB of memory. `--quick`
only shows that it works, `--long` loads four times as many pages. Takes about ten minutes, `--long` 25.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cluster_crawl import Crawled, crawled
from cluster_places import Place, clusters
from cluster_reading import Traced, answer_times, index_questions, shown, tombstones, written_meanwhile
from cluster_rounds import Result, Sizes, opened, play, rounds
from cluster_takeover import LEASE, takeovers
from linkindex_readers import QUESTIONS
from mgmt import postgresql
from weft.config.sections import IndexSettings
from weft.linkindex.pipeline import LinkIndex
from workload import LINKS_PER_PAGE, Web


class Plan(NamedTuple):
    before: int
    pages: int
    """Of each run of rounds."""
    hosts: int
    """Of the crawl, with 25 pages each."""
    rewritten: int
    """Rounds of 100 pages that are written before tombstones are counted."""
    seconds: float
    """For answers while rounds are written."""
    kills: int


QUICK = Plan(before=100, pages=200, hosts=4, rewritten=2, seconds=3.0, kills=1)
USUAL = Plan(before=500, pages=1_000, hosts=40, rewritten=20, seconds=15.0, kills=3)
LONG = Plan(before=1_000, pages=4_000, hosts=100, rewritten=100, seconds=30.0, kills=5)
ROUNDS = (100, 500)
_PAGES_OF_A_HOST = 25
_DOMAIN = "site00000.com"


class Figures:
    """What was measured at each place, by its name."""

    def __init__(self) -> None:
        self.rounds: dict[int, dict[str, Result]] = {size: {} for size in ROUNDS}
        self.crawls: dict[str, Crawled] = {}
        self.answers: dict[str, dict[str, list[float]]] = {}
        self.written: dict[str, float] = {}


def measure(place: Place, plan: Plan, found: Figures, directory: Path) -> Iterator[str]:
    """Fills `found`, and tells what belongs to this place alone."""
    if place.is_cluster:
        play(place, Sizes(0, 2 * ROUNDS[0], ROUNDS[0]))  # a Java that has just started compiles first
    for size in ROUNDS:
        sizes = Sizes(plan.before // size * size, max(size, plan.pages // size * size), size)
        _tell(f"{place.name}: rounds of {size} pages")
        found.rounds[size][place.name] = play(place, sizes, with_disk=size == ROUNDS[0])
    _tell(f"{place.name}: answers")
    yield from _answers(place, plan, found)
    if place.is_cluster:
        _tell(f"{place.name}: takeovers")
        kills = sorted(takeovers(place, plan.kills))
        told = ", ".join(f"{seconds:.1f}" for seconds in kills)
        yield f"\n{place.name}: seconds from kill -9 of an owner to the next one (lease {LEASE:.0f} s): {told}"
    _tell(f"{place.name}: crawl")
    found.crawls[place.name] = crawled(place, plan.hosts, _PAGES_OF_A_HOST, directory / place.name.replace(" ", "-"))
    if traced := found.crawls[place.name].traced:
        yield from _tombstones(f"{place.name}, `weft crawl`", traced)


def _answers(place: Place, plan: Plan, found: Figures) -> Iterator[str]:
    with opened(place) as index:
        linkindex = LinkIndex(index.store, IndexSettings())
        for each in rounds(Sizes(0, 1_000, ROUNDS[0])):
            linkindex.apply(each)
        with written_meanwhile(index, ROUNDS[0]) as ends:
            until = time.monotonic() + 300
            while len(ends) < plan.rewritten and time.monotonic() < until:
                time.sleep(0.1)
            began, done = time.monotonic(), len(ends)
            found.answers[place.name] = answer_times(index.where, plan.seconds)
            found.written[place.name] = (len(ends) - done) / (time.monotonic() - began)
        if index.session is not None:
            questions = index_questions(_DOMAIN, _most_linked())
            yield from _tombstones(f"{place.name}, after {len(ends)} rounds", tombstones(index.where, questions))


def _most_linked() -> str:
    """A page that many link to."""
    from collections import Counter

    from cluster_rounds import WEB
    from weft.model.url import Uri, url_of

    first = next(Web(WEB).batches())
    (uri, _), *_ = Counter(target for _, targets in first for target in targets).most_common(1)
    return url_of(Uri(uri.decode()))


def _tombstones(title: str, traced: dict[str, Traced]) -> Iterator[str]:
    yield f"\n| {title} | requests | rows | tombstones | most in one request |\n|---|---|---|---|---|"
    for name, figures in traced.items():
        yield f"| {name} | {' | '.join(f'{figure:,}' for figure in figures)} |"


def tables(found: Figures) -> Iterator[str]:
    for size in ROUNDS:
        yield from _round_table(size, found.rounds[size])
    yield from _crawl_table(found.crawls)
    yield from _answer_table(found)


def _round_table(size: int, results: dict[str, Result]) -> Iterator[str]:
    own = next(iter(results.values()))
    sizes = own.sizes
    yield f"\n| {sizes.pages:,} pages x {LINKS_PER_PAGE} links, in rounds of {size} | {' | '.join(results)} |"
    yield f"|---|{'---|' * len(results)}"
    lines: list[tuple[str, Callable[[Result, int], str]]] = [
        ("links/s", lambda r, n: f"{n / r.wall:,.0f}"),
        ("CPU µs per link, all processes", lambda r, n: f"{r.cpu / n * 1e6:,.0f}"),
        ("… of the index process", lambda r, n: f"{r.client / n * 1e6:,.0f}"),
        ("… of Cassandra", lambda r, n: f"{r.cassandra / n * 1e6:,.0f}"),
        ("… of PostgreSQL", lambda r, n: f"{r.postgresql / n * 1e6:,.1f}"),
        ("time, times the embedded index", lambda r, n: f"{r.wall / own.wall:.1f}"),
        ("CPU, times the embedded index", lambda r, n: f"{r.cpu / own.cpu:.1f}"),
    ]
    sent: list[tuple[str, Callable[[Result, int], str]]] = [
        ("statements per link", lambda r, n: f"{r.sent.statements / n:.2f}"),
        ("partitions written per link", lambda r, n: f"{r.sent.partitions / n:.2f}"),
        ("read requests per link", lambda r, n: f"{r.sent.reads / n:.2f}"),
        ("bytes sent to Cassandra per link", lambda r, n: f"{r.sent.bytes / n:,.0f}"),
        ("bytes registered in PostgreSQL per link", lambda r, n: f"{r.sent.registered / n:,.0f}"),
        ("… per page", lambda r, n: f"{r.sent.registered / r.sizes.pages:,.0f}"),
        ("bytes of PostgreSQL's log per link", lambda r, n: f"{r.wal / n:,.0f}"),
        ("share of the time: registering", lambda r, n: f"{r.sent.registering / r.wall:.0%}"),
        ("… writing to Cassandra", lambda r, n: f"{r.sent.writing / r.wall:.0%}"),
        ("… reading from Cassandra", lambda r, n: f"{r.sent.reading / r.wall:.0%}"),
        ("bytes on disk per link, all copies", lambda r, n: f"{r.disk / _loaded(r):,.0f}" if r.disk else ""),
    ]
    sized = sorted({name for result in results.values() for name in result.partitions or {}})
    sent += [(f"bytes of the largest partition of {table}", partial(_largest, table)) for table in sized]
    for name, show in lines:
        yield f"| {name} | {' | '.join(show(result, sizes.links) for result in results.values())} |"
    for name, show in sent:
        shown_ = [show(r, sizes.links) if r.sent.statements else "" for r in results.values()]
        yield f"| {name} | {' | '.join(shown_)} |"


def _largest(table: str, result: Result, _: int) -> str:
    return f"{(result.partitions or {}).get(table, 0):,}"


def _loaded(result: Result) -> int:
    return (result.sizes.before + result.sizes.pages) * LINKS_PER_PAGE


def _crawl_table(crawls: dict[str, Crawled]) -> Iterator[str]:
    own = next(iter(crawls.values()))
    yield f"\n| `weft crawl`, {own.pages:,} pages | {' | '.join(crawls)} |\n|---|{'---|' * len(crawls)}"
    yield f"| pages/s, starting and stopping included | {_cells(crawls, lambda c: f'{c.pages / c.wall:.0f}')} |"
    yield f"| CPU ms per page, all processes | {_cells(crawls, lambda c: f'{c.cpu / c.pages * 1000:.1f}')} |"
    roles = sorted({role for each in crawls.values() for role in each.roles})
    for role in roles:
        cells = _cells(crawls, lambda c, role=role: f"{c.roles.get(role, 0) / c.pages * 1000:.1f}")  # type: ignore[misc]
        yield f"| … {role} | {cells} |"
    yield f"| … Cassandra | {_cells(crawls, lambda c: f'{c.cassandra / c.pages * 1000:.1f}')} |"
    yield f"| … PostgreSQL | {_cells(crawls, lambda c: f'{c.postgresql / c.pages * 1000:.1f}')} |"
    times = _cells(crawls, lambda c: f"{c.cpu / c.pages / (own.cpu / own.pages):.1f}")
    yield f"| CPU, times the embedded index | {times} |"


def _cells(crawls: dict[str, Crawled], show: Callable[[Crawled], str]) -> str:
    return " | ".join(show(each) for each in crawls.values())


def _answer_table(found: Figures) -> Iterator[str]:
    yield f"\n| answers while rounds are written, p50 / p99 ms | {' | '.join(found.answers)} |"
    yield f"|---|{'---|' * len(found.answers)}"
    for name in QUESTIONS:
        yield f"| {name} | {' | '.join(shown(times[name]) for times in found.answers.values())} |"
    rates = " | ".join(f"{rate * ROUNDS[0] * LINKS_PER_PAGE:,.0f}" for rate in found.written.values())
    yield f"| links/s that were written meanwhile | {rates} |"


def _tell(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def run(plan: Plan, nodes: Sequence[int]) -> Iterator[str]:
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    found = Figures()
    yield f"load before: {', '.join(f'{load:.1f}' for load in os.getloadavg())}"
    try:
        yield from measure(Place("embedded", directory), plan, found, directory)
        with postgresql() as url:
            for count in nodes:
                _tell(f"starting Cassandra, nodes: {count}")
                with clusters(count, url) as place:
                    yield from measure(place, plan, found, directory)
        yield from tables(found)
        yield f"\nload after: {', '.join(f'{load:.1f}' for load in os.getloadavg())}"
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3], help="Nodes of each cluster.")
    options = parser.parse_args()
    plan = QUICK if options.quick else LONG if options.long else USUAL
    for line in run(plan, options.nodes):
        print(line, flush=True)


if __name__ == "__main__":
    main()

"""Answers of a cluster: tombstones that each one reads, and how long it takes while rounds are written."""

from __future__ import annotations

import multiprocessing
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from cluster_rounds import WEB, Opened
from linkindex_contestants import load_page
from linkindex_readers import QUESTIONS, _ask
from measuring import percentile
from weft.answers.index import Index
from weft.clock import SystemClock
from weft.config.sections import DispatcherSettings, IndexSettings
from weft.config.settings import settings_with
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.segment import choose
from weft.errors import NotKnown
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.pipeline import LinkIndex
from weft.model.domain import reversed_domain
from weft.model.url import Uri, UrlRules, url_of
from weft.store.api import Reader
from weft.store.cassandra.address import parse_address
from weft.store.cassandra.cell_session import Request, Row
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.opening import open_view
from weft.store.cassandra.schema import read_keyspace
from weft.store.cassandra.view import CassandraView
from weft.store.rocksdb import RocksReader
from workload import Web

Question = Callable[[CassandraView], object]
_READ = re.compile(r"Read (\d+) live rows and (\d+) tombstone cells")


class Traced(NamedTuple):
    requests: int
    rows: int
    tombstones: int
    most: int
    """Of one request."""


class TracingSession(ClusterSession):
    """Asks the cluster to trace what is asked while `traces` is a list; the first page of each request counts."""

    traces: list[Any] | None = None

    def read(self, requests: Sequence[Request]) -> list[list[Row]]:
        if self.traces is None:
            return super().read(requests)
        return [list(self._traced(request)) for request in requests]

    def pages(self, request: Request) -> Iterator[list[Row]]:
        if self.traces is None:
            return super().pages(request)
        return iter([list(self._traced(request).current_rows)])

    def _traced(self, request: Request) -> Any:
        found = self._session.execute(self._bound(request), trace=True)
        if self.traces is not None:
            self.traces.append(found)
        return found


def tombstones(where: str, questions: Mapping[str, Question]) -> dict[str, Traced]:
    """What each question reads in the cluster of this URL, by the cluster's own traces."""
    session = TracingSession(parse_address(where))
    try:
        view = CassandraView(session, read_keyspace(session))
        return {name: _trace(session, partial(ask, view)) for name, ask in questions.items()}
    finally:
        session.close()


def index_questions(domain: str, url: str) -> dict[str, Question]:
    return {
        "top": lambda view: Index(view, UrlRules()).top(),
        "top of a domain": lambda view: Index(view, UrlRules()).top(domain),
        "links of a page": lambda view: Index(view, UrlRules()).links(url),
        "page": lambda view: Index(view, UrlRules()).page(url),
    }


def crawl_questions(url: str) -> dict[str, Question]:
    """Of a crawl that has ended: whether there is more of this URL's domain, from where nothing is left out."""
    domain = reversed_domain(UrlRules().identify(url).domain).encode()
    settings, now = DispatcherSettings(), SystemClock().now()

    def segment(view: CassandraView) -> object:
        return choose(view, LinkRound(view, settings.segment_size), domain, settings, now)

    return {"next segment of a domain, after the crawl": segment}


def _trace(session: TracingSession, ask: Callable[[], object]) -> Traced:
    session.traces = []
    with suppress(NotKnown):
        ask()
    found, session.traces = session.traces, None
    read = [_counts(each) for each in found]
    return Traced(len(read), sum(a for a, _ in read), sum(b for _, b in read), max((b for _, b in read), default=0))


def _counts(found: Any) -> tuple[int, int]:
    """Live rows and tombstones of one request: on the replica that read most."""
    trace = found.get_query_trace(max_wait_sec=10)
    read = [match.groups() for event in trace.events if (match := _READ.search(event.description))]
    return max(((int(rows), int(dead)) for rows, dead in read), default=(0, 0), key=lambda pair: pair[1])


@contextmanager
def written_meanwhile(index: Opened, a_round: int) -> Iterator[list[float]]:
    """Rounds of changed pages are written without a pause; gives their moments as they end."""
    stop, ends = Event(), list[float]()

    def write() -> None:
        linkindex = LinkIndex(index.store, IndexSettings())
        for number, some in enumerate(_changing(a_round)):
            if stop.is_set():
                return
            linkindex.apply(some)
            ends.append(time.monotonic())
            if number > 10_000:
                return

    thread = Thread(target=write, daemon=True)
    thread.start()
    try:
        yield ends
    finally:
        stop.set()
        thread.join(120)


def _changing(a_round: int) -> Iterator[list[LoadedPage]]:
    """The first pages again and again, with two links in forty leading elsewhere each time."""
    web = Web(WEB)
    first = next(web.batches())
    dice, version = random.Random(7), 2000
    while True:
        for at in range(0, len(first) - a_round + 1, a_round):
            version += 1
            yield [
                load_page(uri, [*dict.fromkeys([*links[2:], web.uri(dice.randrange(WEB)), web.uri(0)])], version)
                for uri, links in first[at : at + a_round]
            ]


def answer_times(where: str, seconds: float) -> dict[str, list[float]]:
    """Seconds of answers by their question, asked in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as apart:
        return apart.submit(_times, where, seconds).result(seconds + 120)


def _times(where: str, seconds: float) -> dict[str, list[float]]:
    dice, web = random.Random(1), Web(WEB)
    times: dict[str, list[float]] = {name: [] for name in QUESTIONS}
    with _reader(where) as reader:
        index = Index(reader, UrlRules())
        for name in QUESTIONS:  # statements are prepared with the first one
            _ask(index, name, url_of(Uri(web.uri(0).decode())))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name in QUESTIONS:
                url = url_of(Uri(web.uri(min(int(dice.paretovariate(0.7)), WEB - 1)).decode()))
                index.refresh()
                began = time.perf_counter()
                with suppress(NotKnown):
                    _ask(index, name, url)
                times[name].append(time.perf_counter() - began)
    return times


def _reader(where: str) -> Reader:
    if not where.startswith("cassandra:"):
        return RocksReader(Path(where))
    return open_view(settings_with({"store.url": where, "mgmt.url": "postgresql://nobody/asks"}))


def shown(times: Sequence[float]) -> str:
    return f"{percentile(times, 0.5) * 1000:.1f} / {percentile(times, 0.99) * 1000:.1f}" if times else ""

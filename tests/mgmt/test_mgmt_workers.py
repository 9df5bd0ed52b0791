"""Sixteen workers at once: no link is given out twice, none is lost, all end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest

from support.mgmt_audit import audit
from weft.errors import LeaseLost
from weft.mgmt.postgres import PostgresMgmt
from weft.mgmt.sql.mgmt import SqlMgmt
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import Chunk, ClaimedLink, NewLink, NodeType, Result, WarcPosition

LINKS, HOSTS = 1200, 60


@pytest.fixture(params=["sqlite", "postgresql"])
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], SqlMgmt]:
    if request.param == "sqlite":
        return lambda: SqliteMgmt(tmp_path / "mgmt.db")
    url = request.getfixturevalue("postgres_url")
    return lambda: PostgresMgmt(url)


class Work:
    """What the workers share: the truth about what was given out and taken."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.given: Counter[tuple[int, int]] = Counter()
        self.taken: Counter[int] = Counter()
        self.added = self.built = 0
        self.is_over = threading.Event()
        self.failures: list[BaseException] = []

    def gave(self, links: list[ClaimedLink]) -> None:
        with self.lock:
            self.given.update((link.doc_id, link.claim) for link in links)

    def took(self, doc_ids: list[int]) -> None:
        with self.lock:
            self.taken.update(doc_ids)


def crawl(mgmt: SqlMgmt, work: Work, number: int) -> None:
    random, crawler = Random(number), mgmt.register(NodeType.CRAWLER, f"crawler:{number}")
    while not work.is_over.is_set():
        chunk = mgmt.claim(crawler, 1 + random.randrange(12), {f"h{random.randrange(HOSTS)}"})
        if chunk is None:
            mgmt.release(crawler)
            work.is_over.wait(0.01)
            continue
        work.gave(chunk.links)
        fetch(mgmt, work, random, chunk)
        if random.random() < 0.2:
            mgmt.seal_finished(crawler)
        if random.random() < 0.1:
            mgmt.release(crawler)
        mgmt.heartbeat(crawler)


def fetch(mgmt: SqlMgmt, work: Work, random: Random, chunk: Chunk) -> None:
    """Report most links, failures among them, and what takes their places."""
    links = list(chunk.links)
    while links:
        results = [result(link, random) for link in links if random.random() < 0.9]
        answers = mgmt.report(results)
        assert mgmt.report(results) == answers
        work.took([one.doc_id for one, taken in zip(results, answers, strict=True) if taken])
        outcomes = mgmt.outcomes([one.doc_id for one in results if not one.position])
        links = [outcome.replacement for outcome in outcomes.values() if outcome.replacement]
        work.gave(links)


def result(link: ClaimedLink, random: Random) -> Result:
    if random.random() < 0.15:
        return Result(doc_id=link.doc_id, claim=link.claim, error=random.choice(["network", "robots"]))
    position = WarcPosition("spider:1", "a.warc.gz", link.doc_id, link.claim)
    return Result(doc_id=link.doc_id, claim=link.claim, status=200, position=position)


def build(mgmt: SqlMgmt, work: Work, number: int) -> None:
    random, builder = Random(number), mgmt.register(NodeType.INDEX_BUILDER, f"builder:{number}")
    while not work.is_over.is_set():
        chunks = mgmt.take_crawled(builder)
        for chunk in chunks:
            if random.random() < 0.1 and chunk.attempt == 1:
                assert mgmt.build_failed(builder, chunk.id, chunk.attempt, "chance")
            else:
                assert mgmt.built(builder, chunk.id, chunk.attempt, 1)
        if not chunks:
            work.is_over.wait(0.01)


def add(mgmt: SqlMgmt, work: Work, number: int) -> None:
    numbers = list(range(LINKS))
    Random(number).shuffle(numbers)
    for start in range(0, LINKS, 100):
        some = numbers[start : start + 100]
        new = mgmt.add([NewLink(f"h{n % HOSTS}/{n}", f"https://h{n % HOSTS}/{n}", f"h{n % HOSTS}") for n in some])
        with work.lock:
            work.added += new


def test_sixteen_workers_at_once(another: Callable[[], SqlMgmt]) -> None:
    work, watcher = Work(), another()
    roles = [crawl] * 12 + [build] * 2 + [add] * 2

    def run(role: Callable[[SqlMgmt, Work, int], None], number: int) -> None:
        mgmt = another()
        try:
            role(mgmt, work, number)
        except BaseException as error:
            work.failures.append(error)
            work.is_over.set()
            raise
        finally:
            mgmt.close()

    threads = [threading.Thread(target=run, args=(role, number)) for number, role in enumerate(roles)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 120
    while not work.is_over.wait(0.05) and time.monotonic() < until:
        counts = watcher.counts()
        ended = counts.links["crawled"] + counts.links["error"] == LINKS
        if ended and counts.chunks["built"] + counts.chunks["empty"] == sum(counts.chunks.values()):
            work.is_over.set()
    work.is_over.set()
    for thread in threads:
        thread.join(60)
    assert work.failures == []
    assert work.added == LINKS, "two that add the same links count each once"
    assert set(work.given.values()) == {1}, "no claim is given out twice"
    assert len(work.taken) == LINKS
    assert set(work.taken.values()) == {1}, "one result of each link is taken"
    audit(watcher)
    watcher.close()


def test_calls_about_the_same_links_at_once(another: Callable[[], SqlMgmt]) -> None:
    """Two spiders report what a crawler gives back, hands on and calls lost, while another takes it for dead."""
    planes = [another() for _ in range(6)]
    first = planes[0]
    first.add([NewLink(f"h{n % 7}/{n}", f"https://h{n % 7}/{n}", f"h{n % 7}") for n in range(400)])
    with ThreadPoolExecutor(len(planes)) as threads:
        for number in range(25):
            crawler = first.register(NodeType.CRAWLER, "crawler:1")
            chunk = first.claim(crawler, 12)
            assert chunk is not None
            results = [result(link, Random(number)) for link in chunk.links]
            claims = [(link.doc_id, link.claim) for link in chunk.links]
            calls: list[Callable[[], object]] = [
                partial(planes[0].report, results),
                partial(planes[1].report, results[::-1]),
                partial(planes[2].release, crawler, [doc_id for doc_id, _ in claims[::2]]),
                partial(planes[3].lost, crawler, claims[::3]),
                partial(planes[4].seal_finished, crawler),
                partial(planes[5].register, NodeType.CRAWLER, "crawler:1" if number % 3 else "crawler:2"),
            ]
            Random(number).shuffle(calls)
            for done in [threads.submit(call) for call in calls]:
                with suppress(LeaseLost):
                    done.result(timeout=60)
            audit(first)
    for mgmt in planes:
        mgmt.close()

"""The counts that are kept next to the links: per chunk, per web host, per state.

A transaction adds up how its changes of links change them and writes the sums once, in one order for all transactions:
chunks, web hosts, tallies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from weft.mgmt.rules.results import ERROR_STATUS
from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import ChunkId, LinkState, Result

_CHUNKS = """
UPDATE crawler SET
    crawling = crawler.crawling + given.crawling,
    finished = crawler.finished + given.finished,
    c_task = CASE WHEN crawler.crawling + given.crawling = 0 THEN 'crawled' ELSE 'crawling' END,
    offered = CASE WHEN crawler.crawling + given.crawling > 0 OR crawler.finished + given.finished = 0 THEN 0 ELSE 1 END
{from} WHERE crawler.chunk_id = given.chunk_id
"""

_MORE_PENDING = """
INSERT INTO pending_host (web_host, pending, ready_at, set_at)
SELECT web_host, pending, :now, :now FROM {rows web_host:text pending:int} AS given WHERE true ORDER BY web_host
ON CONFLICT (web_host) DO UPDATE SET pending = pending_host.pending + excluded.pending
"""

# A web host that gave links becomes the last of those that are ready; it had no reason to wait.
_FEWER_PENDING = """
UPDATE pending_host SET pending = pending_host.pending - given.taken, ready_at = given.now, set_at = given.now,
    reason = ''
{from} WHERE pending_host.web_host = given.web_host
"""

_DEFER = """
INSERT INTO pending_host (web_host, pending, ready_at, set_at, reason, asked_until, asked_reason)
SELECT web_host, 0, until, :now, reason, asked, asked_reason
FROM {rows web_host:text until:int reason:text asked:int asked_reason:text} AS given WHERE true ORDER BY web_host
ON CONFLICT (web_host) DO UPDATE SET
    ready_at = CASE WHEN pending_host.ready_at < excluded.ready_at THEN excluded.ready_at
        ELSE pending_host.ready_at END,
    set_at = CASE WHEN pending_host.ready_at < excluded.ready_at THEN excluded.set_at ELSE pending_host.set_at END,
    reason = CASE WHEN pending_host.ready_at < excluded.ready_at THEN excluded.reason ELSE pending_host.reason END,
    asked_until = CASE WHEN pending_host.asked_until < excluded.asked_until THEN excluded.asked_until
        ELSE pending_host.asked_until END,
    asked_reason = CASE WHEN pending_host.asked_until < excluded.asked_until THEN excluded.asked_reason
        ELSE pending_host.asked_reason END
WHERE pending_host.ready_at < excluded.ready_at OR pending_host.asked_until < excluded.asked_until
"""

_END_WAITS = """
UPDATE pending_host SET ready_at = CASE WHEN asked_until > :now THEN asked_until ELSE :now END,
    set_at = CASE WHEN asked_until > :now THEN set_at ELSE :now END,
    reason = CASE WHEN asked_until > :now THEN asked_reason ELSE '' END
WHERE web_host {among hosts} AND ready_at > :now
"""

_TALLIES = """
INSERT INTO tally (part, name, count)
SELECT :part, name, count FROM {rows name:text count:int} AS given WHERE true ORDER BY name
ON CONFLICT (part, name) DO UPDATE SET count = tally.count + excluded.count
"""

_LOCK_CHUNKS = "SELECT 1 FROM crawler WHERE chunk_id {in chunks} ORDER BY chunk_id {lock}"


class _Wait(NamedTuple):
    """Of a web host: until when and why, and the same by its server's own wish."""

    until: int = 0
    reason: str = ""
    asked: int = 0
    asked_reason: str = ""


class CounterChanges:
    def __init__(self) -> None:
        self._crawling: Counter[ChunkId] = Counter()
        self._finished: Counter[ChunkId] = Counter()
        self._more: Counter[str] = Counter()
        self._fewer: Counter[str] = Counter()
        self._deferred: dict[str, _Wait] = {}
        self._wanted: set[str] = set()
        self._tallies: Counter[str] = Counter()

    def known(self, web_host: str, links: int) -> None:
        """New links, pending."""
        self._more[web_host] += links
        self._tallies[LinkState.PENDING] += links

    def claimed(self, web_host: str, chunk: ChunkId) -> None:
        self._fewer[web_host] += 1
        self._crawling[chunk] += 1
        self._move(LinkState.PENDING, LinkState.CRAWLING)

    def finished(self, chunk: ChunkId, state: LinkState, result: Result) -> None:
        self._crawling[chunk] -= 1
        self._finished[chunk] += 1
        self._move(LinkState.CRAWLING, state)
        self._count_failure(state, result, 1)

    def given_back(self, web_host: str, chunk: ChunkId) -> None:
        self._crawling[chunk] -= 1
        self._more[web_host] += 1
        self._move(LinkState.CRAWLING, LinkState.PENDING)

    def reopened(self, web_host: str, state: LinkState, result: Result) -> None:
        """A finished link is pending again; `result` is how it had ended."""
        self._more[web_host] += 1
        self._move(state, LinkState.PENDING)
        self._count_failure(state, result, -1)

    def deferred(self, web_host: str, until: int, reason: str, asked: int = 0) -> None:
        """No link of this web host is claimed before `until`; `asked` is until when its server asked us to wait."""
        wait = self._deferred.get(web_host, _Wait())
        if until > wait.until:
            wait = wait._replace(until=until, reason=reason)
        if asked > wait.asked:
            wait = wait._replace(asked=asked, asked_reason=reason)
        self._deferred[web_host] = wait

    def wanted(self, web_host: str) -> None:
        """A person wants a page of it now: it waits no longer than its server asked for."""
        self._wanted.add(web_host)

    def moved_on(self, chunk: ChunkId, links: int) -> None:
        """Finished links left an unfinished chunk."""
        self._finished[chunk] -= links

    def built(self) -> None:
        self._tallies["chunk:built"] += 1

    def lost_built(self, chunks: int) -> None:
        """Chunks that were built are to be built again."""
        self._tallies["chunk:built"] -= chunks

    def _count_failure(self, state: LinkState, result: Result, change: int) -> None:
        if state is LinkState.ERROR:
            self._tallies[f"error:{result.error}"] += change
        elif result.status >= ERROR_STATUS:
            self._tallies[f"status:{result.status}"] += change

    def _move(self, before: LinkState, after: LinkState) -> None:
        self._tallies[before] -= 1
        self._tallies[after] += 1

    def write(self, tx: Transaction) -> None:
        if chunks := self._chunk_changes():
            tx.change(_CHUNKS, "chunk_id:int crawling:int finished:int", chunks)
        self.write_hosts(tx)
        _write(tx, _DEFER, sorted([name, *waits] for name, waits in self._deferred.items()), now=tx.now)
        if self._wanted:
            tx.run(_END_WAITS, hosts=sorted(self._wanted), now=tx.now)
        _write(tx, _TALLIES, sorted([name, count] for name, count in self._tallies.items() if count), part=tx.part)

    def write_hosts(self, tx: Transaction) -> None:
        """Before ready web hosts are looked for again in the same transaction."""
        _write(tx, _MORE_PENDING, sorted(map(list, self._more.items())), now=tx.now)
        if self._fewer:
            fewer = [[web_host, taken, tx.now] for web_host, taken in sorted(self._fewer.items())]
            tx.change(_FEWER_PENDING, "web_host:text taken:int now:int", fewer)
        self._more.clear()
        self._fewer.clear()

    def _chunk_changes(self) -> list[list[object]]:
        touched = sorted({*self._crawling, *self._finished})
        return [
            [chunk, self._crawling[chunk], self._finished[chunk]]
            for chunk in touched
            if self._crawling[chunk] or self._finished[chunk]
        ]


def lock_chunks(tx: Transaction, chunks: Iterable[ChunkId]) -> None:
    """Before any web host is locked: a transaction that changes both takes them in the same order as all others."""
    tx.rows(_LOCK_CHUNKS, chunks=sorted(set(chunks)))


def _write(tx: Transaction, sql: str, rows: list[list[object]], **values: object) -> None:
    if rows:
        tx.run(sql, rows=rows, **values)

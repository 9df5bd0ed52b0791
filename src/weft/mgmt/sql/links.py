"""Links: known once, claimed by one crawler at a time, given back, opened again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from weft.errors import MgmtError
from weft.mgmt import rules
from weft.mgmt.sql.claims import take
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.sql.ledger import Ledger, lock_chunks
from weft.mgmt.sql.line import first_in_line, lock_hosts, pass_over
from weft.mgmt.sql.results import FINISHED, KnownLink, finish, lock_links, outcomes, report
from weft.mgmt.transitions import Cause, link_after
from weft.mgmt.values import (
    Chunk,
    ChunkId,
    DocId,
    Lease,
    LinkState,
    NewLink,
    NodeId,
    Outcome,
    Reopen,
    Result,
)
from weft.model.fetch_error import FetchError

ADDING: Final = 1
SLICE: Final = 1000
"""Links that one statement takes."""

_ADD: Final = """
INSERT INTO link (link, kind, uri, web_host, priority, known_etag, known_modified)
SELECT url, 'page', uri, web_host, priority, etag, last_modified
FROM {rows uri:text url:text web_host:text priority:int etag:text last_modified:text} AS given WHERE true
ON CONFLICT (uri, kind) DO NOTHING RETURNING web_host
"""

_NEW_CHUNK: Final = "INSERT INTO chunk DEFAULT VALUES RETURNING id"
_EMPTY_CRAWLER: Final = """
INSERT INTO crawler (chunk_id, c_host, c_task, crawling, finished) VALUES (:chunk, :address, 'crawled', 0, 0)
"""

# A page that is crawling is in a chunk that is, so it needs no index of its own.
_HELD: Final = """
SELECT "index" FROM link WHERE state = 'crawling' AND chunk_id IN (
    SELECT chunk_id FROM crawler JOIN host ON host.host = crawler.c_host
    WHERE host."index" = :node AND crawler.c_task = 'crawling')
UNION ALL SELECT "index" FROM link WHERE node = :node AND state = 'crawling' AND kind = 'robots'
"""

_KNOWN: Final = """SELECT "index" FROM link WHERE "index" {in ids}"""

_GIVE_BACK: Final = """
UPDATE link SET state = 'pending', chunk_id = NULL, node = NULL, losses = losses + :losses WHERE "index" {in ids}
"""

_FIND: Final = """SELECT "index", uri FROM link WHERE kind = 'page' AND uri {among uris}"""
_BUILT: Final = "SELECT chunk_id FROM index_builder WHERE chunk_id {in chunks} AND ib_task = 'built'"

_REOPEN: Final = """
UPDATE link SET state = 'pending', chunk_id = NULL, losses = 0, link = given.url, web_host = given.web_host,
    priority = given.priority, known_etag = given.etag, known_modified = given.last_modified
FROM {rows doc_id:int url:text web_host:text priority:int etag:text last_modified:text} AS given
WHERE link."index" = given.doc_id
"""

_UNFINISHED: Final = """
SELECT chunk_id FROM crawler WHERE c_host = :address AND c_task = 'crawling' AND finished > 0 ORDER BY chunk_id {lock}
"""
_FINISHED_LINKS: Final = """
SELECT "index", chunk_id FROM link WHERE chunk_id {in chunks} AND state <> 'crawling' ORDER BY "index" {skip}
"""
_MOVE: Final = """UPDATE link SET chunk_id = :chunk WHERE "index" {in ids}"""
_SEALED: Final = """
INSERT INTO crawler (chunk_id, c_host, c_task, crawling, finished, offered)
VALUES (:chunk, :address, 'crawled', 0, :finished, 1)
"""


class AllHostsBusy(Exception):  # noqa: N818 - asked again at once, never seen outside
    """Links wait, but other transactions have all their web hosts in hand."""


def add(tx: Transaction, ledger: Ledger, links: Sequence[NewLink | Reopen]) -> int:
    """How many are new."""
    # In the order given, so that indexes follow it; two that insert the same uris in different orders would deadlock.
    tx.serialise(ADDING)
    new: Counter[str] = Counter()
    for start in range(0, len(links), SLICE):
        new.update(_insert(tx, links[start : start + SLICE]))
    for web_host, count in new.items():
        ledger.known(web_host, count)
    return new.total()


def _insert(tx: Transaction, links: Sequence[NewLink | Reopen]) -> Iterator[str]:
    """The web hosts of those that were not known."""
    known = find(tx, [link.uri for link in links])
    unknown: dict[str, NewLink | Reopen] = {}
    for link in links:
        if link.uri not in known:
            unknown.setdefault(link.uri, link)
    rows = [
        [link.uri, link.url, link.web_host, link.priority, link.etag, link.last_modified] for link in unknown.values()
    ]
    return (web_host for (web_host,) in tx.rows(_ADD, rows=rows)) if rows else iter(())


def find(tx: Transaction, uris: Iterable[str]) -> dict[str, DocId]:
    """The indexes of pages that are known."""
    return {uri: doc_id for doc_id, uri in tx.rows(_FIND, uris=sorted(set(uris)))}


def claim(tx: Transaction, ledger: Ledger, crawler: Lease, limit: int, reject: Collection[str]) -> Chunk | None:
    state, asked = alive(tx, crawler)
    if limit < 1 or not rules.wants_work(state, asked):
        return None
    line = first_in_line(tx, crawler.node, limit, reject)
    wanted = [host for host in line if host.web_host not in reject]
    hosts = lock_hosts(tx, wanted, limit)
    if not hosts:
        if wanted:
            raise AllHostsBusy
        return None
    last = hosts[-1].place
    pass_over(tx, [host.web_host for host in line if host.web_host in reject and host.place < last])
    chunk = new_chunk(tx)
    tx.run(_EMPTY_CRAWLER, chunk=chunk, address=crawler.address)
    shares = rules.fair_shares([host.pending for host in hosts], limit)
    places = [(host.web_host, chunk) for host, share in zip(hosts, shares, strict=True) for _ in range(share)]
    taken = [link for link in take(tx, ledger, crawler.node, places) if link is not None]
    if not taken:
        raise AllHostsBusy
    return Chunk(chunk, taken)


def new_chunk(tx: Transaction) -> ChunkId:
    return ChunkId(tx.rows(_NEW_CHUNK)[0][0])


def release_held(tx: Transaction, ledger: Ledger, crawler: Lease, doc_ids: Sequence[DocId] | None) -> int:
    alive(tx, crawler)
    return release(tx, ledger, crawler.node, doc_ids, Cause.RELEASE)


def refuse(tx: Transaction, ledger: Ledger, crawler: Lease, results: Sequence[Result]) -> list[Outcome]:
    alive(tx, crawler)
    known = {row[0] for row in tx.rows(_KNOWN, ids=sorted({result.doc_id for result in results}))}
    for result in results:
        if result.doc_id not in known:
            raise MgmtError(f"link {result.doc_id}: no such link; expected one that this crawler holds")
    report(tx, ledger, results, crawler.node)
    found = outcomes(tx, [result.doc_id for result in results])
    return [found[result.doc_id] for result in results]


def release(tx: Transaction, ledger: Ledger, node: NodeId, doc_ids: Iterable[DocId] | None, cause: Cause) -> int:
    """Give back links that this node holds; None: all of them."""
    if doc_ids is None:
        doc_ids = [row[0] for row in tx.rows(_HELD, node=node)]
    links = [link for link in lock_links(tx, doc_ids).values() if _is_held(link, node)]
    give_back(tx, ledger, links, cause)
    return len(links)


def _is_held(link: KnownLink | None, node: NodeId) -> bool:
    return link is not None and link.state is LinkState.CRAWLING and link.node == node


def give_back(tx: Transaction, ledger: Ledger, links: Sequence[KnownLink], cause: Cause) -> None:
    """Links that are crawling and locked become pending again."""
    if not links:
        return
    lock_chunks(tx, [link.chunk_id for link in links if link.chunk_id is not None])
    for link in links:
        link_after(link.state, cause, link.doc_id, is_robots=link.is_robots)
        if link.chunk_id is not None:
            ledger.given_back(link.web_host, link.chunk_id)
    tx.run(_GIVE_BACK, ids=[link.doc_id for link in links], losses=int(cause is Cause.LOSS))


def lost(tx: Transaction, ledger: Ledger, crawler: Lease, links: Sequence[tuple[DocId, int]]) -> None:
    alive(tx, crawler)
    known = lock_links(tx, [doc_id for doc_id, _ in links])
    ours = {
        doc_id: known[doc_id]
        for doc_id, claim in links
        if _is_held(known.get(doc_id), crawler.node) and known[doc_id].claim == claim
    }
    over = [link for link in ours.values() if link.losses + 1 >= rules.MOST_LOSSES]
    lock_chunks(tx, [link.chunk_id for link in ours.values() if link.chunk_id is not None])
    finish(tx, ledger, [(link, Result(doc_id=link.doc_id, claim=link.claim, error=FetchError.LOST)) for link in over])
    give_back(tx, ledger, [link for link in ours.values() if link not in over], Cause.LOSS)


def reopen(tx: Transaction, ledger: Ledger, wanted: Sequence[Reopen]) -> list[bool]:
    tx.serialise(ADDING)
    indexes = find(tx, [one.uri for one in wanted])
    add(tx, ledger, [one for one in wanted if one.uri not in indexes])
    known = lock_links(tx, indexes.values())
    built = _built(tx, known.values())
    pending = {doc_id for doc_id, link in known.items() if link.state is LinkState.PENDING}
    changes: list[list[object]] = []
    for one in wanted:
        link = known.get(indexes.get(one.uri, DocId(0)))
        if link and link.doc_id not in pending and link.chunk_id in built and link.ended <= one.after:
            pending.add(link.doc_id)
            changes.append(_reopened(ledger, link, one))
    if changes:
        tx.run(_REOPEN, rows=changes)
    return [indexes.get(one.uri) in pending or one.uri not in indexes for one in wanted]


def _built(tx: Transaction, links: Iterable[KnownLink]) -> set[ChunkId]:
    """Chunks of finished links that are built."""
    chunks = sorted({link.chunk_id for link in links if link.state in FINISHED and link.chunk_id is not None})
    return {row[0] for row in tx.rows(_BUILT, chunks=chunks)} if chunks else set()


def _reopened(ledger: Ledger, link: KnownLink, wanted: Reopen) -> list[object]:
    link_after(link.state, Cause.REOPEN, link.doc_id)
    ledger.reopened(wanted.web_host, link.state, link.result[2])
    return [link.doc_id, wanted.url, wanted.web_host, wanted.priority, wanted.etag, wanted.last_modified]


def defer(tx: Transaction, ledger: Ledger, until: Mapping[str, int]) -> None:
    for web_host, moment in until.items():
        ledger.deferred(web_host, moment)


def linger(tx: Transaction, ledger: Ledger, crawler: Lease) -> int:
    alive(tx, crawler)
    chunks = [row[0] for row in tx.rows(_UNFINISHED, address=crawler.address)]
    finished = tx.rows(_FINISHED_LINKS, chunks=chunks) if chunks else []
    for chunk, count in Counter(chunk for _, chunk in finished).items():
        ledger.moved_on(chunk, count)
    for start in range(0, len(finished), rules.LINGER_MOST):
        some = [doc_id for doc_id, _ in finished[start : start + rules.LINGER_MOST]]
        sealed = new_chunk(tx)
        tx.run(_SEALED, chunk=sealed, address=crawler.address, finished=len(some))
        tx.run(_MOVE, chunk=sealed, ids=some)
    return len(finished)

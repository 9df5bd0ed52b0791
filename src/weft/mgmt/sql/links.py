"""Links: known once, given back, opened again, and what others may know of them. Claims are in `claims`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from weft.mgmt.rules.results import kept_reason
from weft.mgmt.rules.transitions import Cause, link_after
from weft.mgmt.sql.counters import CounterChanges, lock_chunks
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.sql.result_columns import SELECTED, columns_for, read_result, values_for
from weft.mgmt.sql.web_hosts import addresses, settings_named
from weft.mgmt.values import (
    ChunkId,
    Details,
    DocId,
    Lease,
    LinkFacts,
    LinkKind,
    LinkState,
    NewLink,
    NodeId,
    Reopen,
    Result,
)
from weft.model.host import site_names
from weft.model.original import Original
from weft.model.site import settings_for

ADDING: Final = 1
SLICE: Final = 1000
"""Links that one statement takes."""

_ADD: Final = """
INSERT INTO link (link, kind, uri, web_host, priority, known_etag, known_modified, known_original)
SELECT url, 'page', uri, web_host, priority, etag, last_modified, original
FROM {rows uri:text url:text web_host:text priority:int etag:text last_modified:text original:text} AS given WHERE true
ON CONFLICT (uri, kind) DO NOTHING RETURNING web_host
"""

# A page that is crawling is in a chunk that is, so it needs no index of its own.
_HELD: Final = """
SELECT "index" FROM link WHERE state = 'crawling' AND chunk_id IN (
    SELECT chunk_id FROM crawler JOIN host ON host.host = crawler.c_host
    WHERE host."index" = :node AND crawler.c_task = 'crawling')
UNION ALL SELECT "index" FROM link WHERE node = :node AND state = 'crawling' AND kind = 'robots'
"""

_GIVE_BACK: Final = """
UPDATE link SET state = 'pending', chunk_id = NULL, node = NULL, losses = losses + :losses WHERE "index" {in ids}
"""

_FIND: Final = """SELECT "index", uri FROM link WHERE kind = 'page' AND uri {among uris}"""
_BUILT: Final = "SELECT chunk_id FROM index_builder WHERE chunk_id {in chunks} AND ib_task = 'built'"

_REOPEN: Final = """
UPDATE link SET state = 'pending', chunk_id = NULL, losses = 0, link = given.url, web_host = given.web_host,
    priority = given.priority, known_etag = given.etag, known_modified = given.last_modified,
    known_original = given.original
FROM {rows doc_id:int url:text web_host:text priority:int etag:text last_modified:text original:text} AS given
WHERE link."index" = given.doc_id
"""

_FACTS: Final = f"""
SELECT uri, "index", link, state, chunk_id, {columns_for(LinkFacts)}
FROM link WHERE kind = 'page' AND uri {{among uris}}
"""  # noqa: S608

_TO_FETCH: Final = """
SELECT "index", kind, link, claim, known_etag, known_modified, known_original, web_host, state, losses
FROM link WHERE "index" {in ids}
"""

_LOCK: Final = f"""
SELECT "index", kind, uri, web_host, state, chunk_id, node, claim, losses, {SELECTED}
FROM link WHERE "index" {{in ids}} ORDER BY "index" {{lock}}
"""  # noqa: S608


class KnownLink(NamedTuple):
    """A row of relation `link`."""

    doc_id: DocId
    kind: LinkKind
    uri: str
    web_host: str
    state: LinkState
    chunk_id: ChunkId | None
    node: NodeId | None
    claim: int
    losses: int
    result_values: Row

    @property
    def is_robots(self) -> bool:
        return self.kind is LinkKind.ROBOTS

    @property
    def result(self) -> Result:
        """How the last fetch ended; its claim is 0 if there was none."""
        return read_result(self.doc_id, self.result_values)

    def is_held_by(self, node: NodeId) -> bool:
        return self.state is LinkState.CRAWLING and self.node == node


def lock_links(tx: Transaction, doc_ids: Iterable[DocId]) -> dict[DocId, KnownLink]:
    found = tx.rows(_LOCK, ids=sorted(set(doc_ids)))
    return {
        doc_id: KnownLink(
            doc_id, LinkKind(kind), uri, host, LinkState(state), chunk, node, claim, losses, tuple(result)
        )
        for doc_id, kind, uri, host, state, chunk, node, claim, losses, *result in found
    }


def add(tx: Transaction, counters: CounterChanges, links: Sequence[NewLink | Reopen]) -> int:
    """How many are new."""
    # In the order given, so that indexes follow it; two that insert the same uris in different orders would deadlock.
    tx.serialise(ADDING)
    new: Counter[str] = Counter()
    for start in range(0, len(links), SLICE):
        new.update(_insert(tx, links[start : start + SLICE]))
    for web_host, count in new.items():
        counters.known(web_host, count)
    return new.total()


def _insert(tx: Transaction, links: Sequence[NewLink | Reopen]) -> Iterator[str]:
    """The web hosts of those that were not known."""
    known = _find(tx, [link.uri for link in links])
    unknown: dict[str, NewLink | Reopen] = {}
    for link in links:
        if link.uri not in known:
            unknown.setdefault(link.uri, link)
    rows = [[link.uri, link.url, link.web_host, link.priority, *_validators(link)] for link in unknown.values()]
    return (web_host for (web_host,) in tx.rows(_ADD, rows=rows)) if rows else iter(())


def _find(tx: Transaction, uris: Iterable[str]) -> dict[str, DocId]:
    """The indexes of pages that are known."""
    return {uri: doc_id for doc_id, uri in tx.rows(_FIND, uris=sorted(set(uris)))}


def known(tx: Transaction, uris: Sequence[str]) -> dict[str, LinkFacts]:
    return {
        uri: LinkFacts(doc_id=doc_id, url=url, state=LinkState(state), chunk=chunk, **values_for(LinkFacts, result))
        for uri, doc_id, url, state, chunk, *result in tx.rows(_FACTS, uris=sorted(set(uris)))
    }


def details(tx: Transaction, doc_ids: Sequence[DocId]) -> dict[DocId, Details]:
    rows = [_ToFetch(*row) for row in tx.rows(_TO_FETCH, ids=sorted(set(doc_ids)))]
    crawling = [row for row in rows if row.state == LinkState.CRAWLING]
    sites = settings_named(tx, {name for row in crawling for name in site_names(row.web_host)})
    settings = {web_host: settings_for(web_host, sites) for web_host in {row.web_host for row in crawling}}
    guarded = sorted(web_host for web_host, site in settings.items() if site.has_credentials)
    located = addresses(tx, guarded) if guarded else {}
    return {
        row.doc_id: Details(
            doc_id=row.doc_id,
            kind=LinkKind(row.kind),
            url=row.url,
            claim=row.claim,
            etag=row.etag,
            last_modified=row.last_modified,
            original=Original.decode(row.original),
            site=settings[row.web_host],
            address=located[row.web_host].ip if row.web_host in located else "",
            losses=row.losses,
        )
        for row in crawling
    }


class _ToFetch(NamedTuple):
    doc_id: DocId
    kind: str
    url: str
    claim: int
    etag: str
    last_modified: str
    original: str
    web_host: str
    state: str
    losses: int


def release_held(
    tx: Transaction,
    counters: CounterChanges,
    crawler: Lease,
    doc_ids: Sequence[DocId] | None = None,
    keep: Collection[DocId] = frozenset(),
) -> int:
    alive(tx, crawler)
    chosen = held_by(tx, crawler.node) if doc_ids is None else doc_ids
    return release(tx, counters, crawler.node, [doc_id for doc_id in chosen if doc_id not in keep], Cause.RELEASE)


def held_by(tx: Transaction, node: NodeId) -> list[DocId]:
    return [doc_id for (doc_id,) in tx.rows(_HELD, node=node)]


def release(
    tx: Transaction, counters: CounterChanges, node: NodeId, doc_ids: Iterable[DocId] | None, cause: Cause
) -> int:
    """Give back links that this node holds; None: all of them."""
    chosen = held_by(tx, node) if doc_ids is None else doc_ids
    links = [link for link in lock_links(tx, chosen).values() if link.is_held_by(node)]
    give_back(tx, counters, links, cause)
    return len(links)


def give_back(tx: Transaction, counters: CounterChanges, links: Sequence[KnownLink], cause: Cause) -> None:
    """Links that are crawling and locked become pending again."""
    if not links:
        return
    lock_chunks(tx, [link.chunk_id for link in links if link.chunk_id is not None])
    for link in links:
        link_after(link.state, cause, link.doc_id, is_robots=link.is_robots)
        if link.chunk_id is not None:
            counters.given_back(link.web_host, link.chunk_id)
    tx.run(_GIVE_BACK, ids=[link.doc_id for link in links], losses=int(cause is Cause.LOSS))


def reopen(tx: Transaction, counters: CounterChanges, wanted: Sequence[Reopen]) -> list[bool]:
    tx.serialise(ADDING)
    indexes = _find(tx, [one.uri for one in wanted])
    add(tx, counters, [one for one in wanted if one.uri not in indexes])
    known = lock_links(tx, indexes.values())
    built = _built(tx, known.values())
    pending = {doc_id for doc_id, link in known.items() if link.state is LinkState.PENDING}
    changes: list[list[object]] = []
    for one in wanted:
        if one.at_once:
            counters.wanted(one.web_host)
        link = known.get(indexes.get(one.uri, DocId(0)))
        if link and link.doc_id not in pending and link.chunk_id in built and link.result.ended <= one.after:
            pending.add(link.doc_id)
            changes.append(_reopened(counters, link, one))
    if changes:
        tx.run(_REOPEN, rows=changes)
    return [indexes.get(one.uri) in pending or one.uri not in indexes for one in wanted]


def _built(tx: Transaction, links: Iterable[KnownLink]) -> set[ChunkId]:
    """Chunks of finished links that are built."""
    chunks = sorted({link.chunk_id for link in links if link.state.is_finished and link.chunk_id is not None})
    return {chunk for (chunk,) in tx.rows(_BUILT, chunks=chunks)} if chunks else set()


def _reopened(counters: CounterChanges, link: KnownLink, wanted: Reopen) -> list[object]:
    link_after(link.state, Cause.REOPEN, link.doc_id)
    counters.reopened(wanted.web_host, link.state, link.result)
    return [link.doc_id, wanted.url, wanted.web_host, wanted.priority, *_validators(wanted)]


def _validators(link: NewLink | Reopen) -> list[str]:
    return [link.etag, link.last_modified, link.original.encode() if link.original else ""]


def defer(
    tx: Transaction, counters: CounterChanges, waits: Mapping[str, int], reasons: Mapping[str, str] | None = None
) -> None:
    for web_host, wait in waits.items():
        counters.deferred(web_host, tx.now + wait, kept_reason(reasons, web_host))

"""The next pending links of web hosts whose turn it is."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Final

from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.ledger import Ledger
from weft.mgmt.transitions import Cause, link_after
from weft.mgmt.values import ChunkId, ClaimedLink, DocId, LinkState, NodeId

_FIRST_OF_HOST: Final = """
SELECT "index", link, web_host, claim + 1 AS claim FROM link
WHERE state = 'pending' AND kind = 'page' AND web_host = given.web_host
ORDER BY priority, "index" LIMIT given.most {skip}
"""

_TAKE: Final = """
UPDATE link SET state = 'crawling', claim = claim + 1, node = given.node, chunk_id = given.chunk_id,
    replacement = NULL, replacement_claim = NULL {from} WHERE link."index" = given.doc_id
"""


def take(
    tx: Transaction, ledger: Ledger, crawler: NodeId, wanted: Sequence[tuple[str, ChunkId]]
) -> list[ClaimedLink | None]:
    """The next pending link of each of these web hosts (all locked), into these chunks; None where there is none."""
    shares = Counter(web_host for web_host, _ in wanted)
    waiting: dict[str, deque[ClaimedLink]] = {web_host: deque() for web_host in shares}
    for doc_id, url, web_host, claim in tx.each(_FIRST_OF_HOST, "web_host:text most:int", sorted(shares.items())):
        waiting[web_host].append(ClaimedLink(DocId(doc_id), url, web_host, claim))
    taken = [waiting[web_host].popleft() if waiting[web_host] else None for web_host, _ in wanted]
    changes = []
    for link, (_, chunk) in zip(taken, wanted, strict=True):
        if link is not None:
            link_after(LinkState.PENDING, Cause.CLAIM, link.doc_id)
            ledger.claimed(link.web_host, chunk)
            changes.append([link.doc_id, chunk, crawler])
    if changes:
        tx.change(_TAKE, "doc_id:int chunk_id:int node:int", changes)
    return taken

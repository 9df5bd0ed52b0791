"""A pending link in place of one that failed, in the same chunk; of another host if the error is the host's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from weft.mgmt import rules
from weft.mgmt.sql.claims import take
from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.ledger import Ledger
from weft.mgmt.sql.line import WaitingHost, first_in_line, lock_hosts, open_slots
from weft.mgmt.values import ChunkId, ClaimedLink, DocId, NodeId, NodeState
from weft.model.fetch_error import FetchError

Failed = tuple[DocId, NodeId, ChunkId, str, str]
"""Link, its crawler, its chunk, its web host, the error."""

_WILLING: Final = """SELECT "index", state, asked FROM host WHERE "index" {in nodes}"""
_HOSTS: Final = """
SELECT web_host, pending, ready_at, slot FROM pending_host
WHERE web_host {among hosts} AND pending > 0 AND ready_at <= :now
"""


def replace(tx: Transaction, ledger: Ledger, failed: Sequence[Failed]) -> dict[DocId, ClaimedLink]:
    by_crawler = defaultdict(list)
    for one in failed:
        by_crawler[one[1]].append(one)
    found: dict[DocId, ClaimedLink] = {}
    for crawler in sorted(_willing(tx, by_crawler)):
        found |= _replace_for(tx, ledger, crawler, by_crawler[crawler])
        if len(by_crawler) > 1:
            ledger.settle_hosts(tx)
    return found


def _willing(tx: Transaction, crawlers: Iterable[NodeId]) -> list[NodeId]:
    """Those that neither drain nor pause."""
    nodes = sorted(crawlers)
    rows = tx.rows(_WILLING, nodes=nodes) if nodes else []
    return [node for node, state, asked in rows if rules.wants_work(NodeState(state), NodeState(asked))]


def _replace_for(
    tx: Transaction, ledger: Ledger, crawler: NodeId, failed: Sequence[Failed]
) -> dict[DocId, ClaimedLink]:
    line = first_in_line(tx, crawler, len(failed) + 1, ())
    own = {web_host for *_, web_host, error in failed if not FetchError.of(error).replaced_from_elsewhere}
    line += _ready(tx, crawler, own - {host.web_host for host in line})
    hosts = lock_hosts(tx, line, len(line))
    chosen = list(zip(failed, _chosen(hosts, failed, tx.now), strict=True))
    wanted = [(one, web_host) for one, web_host in chosen if web_host is not None]
    taken = take(tx, ledger, crawler, [(web_host, one[2]) for one, web_host in wanted])
    return {one[0]: link for (one, _), link in zip(wanted, taken, strict=True) if link is not None}


def _ready(tx: Transaction, crawler: NodeId, names: set[str]) -> list[WaitingHost]:
    if not names:
        return []
    slots = open_slots(tx, crawler)
    hosts = [WaitingHost(*row) for row in tx.rows(_HOSTS, hosts=sorted(names), now=tx.now)]
    return [host for host in hosts if host.slot in slots]


def _chosen(hosts: Sequence[WaitingHost], failed: Sequence[Failed], now: int) -> list[str | None]:
    """The host that each replacement comes from, as if they were asked for one after the other."""
    line = {host.web_host: host for host in hosts}
    chosen: list[str | None] = []
    for *_, web_host, error in failed:
        is_links_own = not FetchError.of(error).replaced_from_elsewhere
        places = [host.place for name, host in line.items() if is_links_own or name != web_host]
        found = web_host if is_links_own and web_host in line else min(places, default=(0, None))[1]
        chosen.append(found)
        if found is not None:
            _give_one(line, found, now)
    return chosen


def _give_one(line: dict[str, WaitingHost], web_host: str, now: int) -> None:
    host = line.pop(web_host)
    if host.pending > 1:
        line[web_host] = host._replace(pending=host.pending - 1, ready_at=now)

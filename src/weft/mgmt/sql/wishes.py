"""Pages that people want fetched now: noted when they are named, kept until the dispatcher has seen them fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.mgmt.rules.wishes import forgotten_origins
from weft.mgmt.sql import links
from weft.mgmt.sql.counters import CounterChanges
from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import NewLink, Seed, Wish

_WANT: Final = """
INSERT INTO wanted (uri, url, any_scheme, hops, asked)
SELECT uri, url, any_scheme, hops, asked
FROM {rows uri:text url:text any_scheme:int hops:int asked:int} AS given WHERE true ORDER BY uri
ON CONFLICT (uri) DO UPDATE SET url = excluded.url, any_scheme = excluded.any_scheme, hops = excluded.hops,
    asked = excluded.asked
"""
_WISHES: Final = """
SELECT uri, url, any_scheme, hops, asked FROM wanted WHERE uri > :after ORDER BY uri LIMIT :limit
"""
# One that was named again meanwhile stays.
_GRANTED: Final = """
DELETE FROM wanted WHERE EXISTS (
    SELECT 1 FROM {rows uri:text asked:int} AS given WHERE given.uri = wanted.uri AND given.asked = wanted.asked)
"""
# What waits for its first fetch, or for another try, waits with the URL that was named last.
_CORRECT: Final = """
UPDATE link SET link = given.url FROM {rows uri:text url:text web_host:text} AS given
WHERE link.uri = given.uri AND link.kind = 'page' AND link.state = 'pending' AND link.web_host = given.web_host
    AND (link.result_claim = 0 OR link.error <> '')
"""
_FORGET_ROBOTS: Final = """
UPDATE robots SET expires = fetched WHERE origin {among origins} AND (status = 0 OR status = 429 OR status >= 500)
"""


def want(tx: Transaction, counters: CounterChanges, seeds: Sequence[Seed]) -> int:
    new = links.add(tx, counters, [NewLink(seed.uri, seed.url, seed.web_host) for seed in seeds])
    last = {seed.uri: seed for seed in seeds}
    if not last:
        return new
    tx.run(_CORRECT, rows=[[seed.uri, seed.url, seed.web_host] for seed in last.values()])
    tx.run(_FORGET_ROBOTS, origins=forgotten_origins(last.values()))
    tx.run(_WANT, rows=[[seed.uri, seed.url, int(seed.any_scheme), 0, tx.now] for seed in last.values()])
    for seed in last.values():
        counters.wanted(seed.web_host)
    return new


def wishes(tx: Transaction, after: str = "", limit: int = 1000) -> list[Wish]:
    rows = tx.rows(_WISHES, after=after, limit=limit)
    return [Wish(uri, url, bool(any_scheme), hops, asked) for uri, url, any_scheme, hops, asked in rows]


def settle_wishes(tx: Transaction, granted: Sequence[Wish], instead: Sequence[Wish] = ()) -> None:
    if granted:
        tx.run(_GRANTED, rows=[[wish.uri, wish.asked] for wish in granted])
    if instead:
        tx.run(_WANT, rows=[[wish.uri, wish.url, int(wish.any_scheme), wish.hops, wish.asked] for wish in instead])

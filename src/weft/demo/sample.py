"""The documents' sample as cells: three pages that link to five."""

from __future__ import annotations

from weft.store.api import Batch
from weft.store.tables import Table, ranked

LINKS = {b"com.a/page1": [b"com.c", b"com.b"], b"com.b": [b"com.c/page1", b"com.c"], b"com.d": [b"com.c"]}
DOMAINS = {
    b"com.a/page1": b"com.a",
    b"com.b": b"com.b",
    b"com.c": b"com.c",
    b"com.c/page1": b"com.c",
    b"com.d": b"com.d",
}


def sample_batch() -> Batch:
    """The sample's query table: who references whom, how often, and every ranking."""
    batch = Batch()
    for uri, domain in DOMAINS.items():
        sources = [source for source, targets in LINKS.items() if uri in targets]
        count = b"%d" % len(sources)
        for source in sources:
            batch.put(Table.QUERY, b"p:" + uri, b"inlinks", source, b"anchorText")
        batch.put(Table.QUERY, b"p:" + uri, b"page", b"incount", count)
        batch.put(Table.QUERY, b"d:" + domain, b"rank", ranked(len(sources), uri), count)
        batch.put(Table.QUERY, b"t:" + ranked(len(sources), uri), b"", b"", count)
    for domain in set(DOMAINS.values()):
        pages = sum(1 for other in DOMAINS.values() if other == domain)
        batch.put(Table.QUERY, b"d:" + domain, b"domain", b"pagecount", b"%d" % pages)
    return batch

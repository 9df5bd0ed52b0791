"""What is known of pages' links, for those who ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.mgmt.sql.database import Transaction
from weft.mgmt.values import LinkFacts, LinkState

_KNOWN: Final = """
SELECT uri, "index", link, state, chunk_id, status, error, location, ended
FROM link WHERE kind = 'page' AND uri {among uris}
"""


def known(tx: Transaction, uris: Sequence[str]) -> dict[str, LinkFacts]:
    return {
        uri: LinkFacts(
            doc_id=doc_id,
            url=url,
            state=LinkState(state),
            chunk=chunk,
            status=status or 0,
            error=error or "",
            location=location or "",
            ended=ended or 0,
        )
        for uri, doc_id, url, state, chunk, status, error, location, ended in tx.rows(_KNOWN, uris=sorted(set(uris)))
    }

"""What must hold in a database of the control plane at every moment, recounted from the links themselves."""

from __future__ import annotations

from weft.mgmt.sql.database import Transaction
from weft.mgmt.sql.mgmt import SqlMgmt

# Each finds the rows that break a rule.
RULES = {
    "a crawling link has a node that is not offline": """
        SELECT link."index" FROM link LEFT JOIN host ON host."index" = link.node
        WHERE link.state = 'crawling' AND (host.state IS NULL OR host.state = 'offline')""",
    "a page has a chunk unless it is pending, a robots link has none": """
        SELECT "index" FROM link WHERE (chunk_id IS NULL) <> (kind = 'robots' OR state = 'pending')""",
    "a chunk is crawled exactly when none of its links is crawling": """
        SELECT chunk_id FROM crawler WHERE (c_task = 'crawled') <> NOT EXISTS (
            SELECT 1 FROM link WHERE link.chunk_id = crawler.chunk_id AND link.state = 'crawling')""",
    "an unfinished chunk counts its links": """
        SELECT chunk_id FROM crawler WHERE c_task = 'crawling' AND (
            crawling <> (SELECT count(*) FROM link WHERE link.chunk_id = crawler.chunk_id AND state = 'crawling')
            OR finished <> (SELECT count(*) FROM link WHERE link.chunk_id = crawler.chunk_id) - crawling)""",
    "every chunk has its crawler": "SELECT id FROM chunk WHERE id NOT IN (SELECT chunk_id FROM crawler)",
    "an offered chunk is crawled and nobody has it": """
        SELECT crawler.chunk_id FROM crawler LEFT JOIN index_builder ON index_builder.chunk_id = crawler.chunk_id
        WHERE offered = 1 AND (c_task <> 'crawled' OR ib_task IN ('building', 'built'))""",
    "a crawled chunk with links is offered, in a builder's hands or over": """
        SELECT chunk_id FROM crawler WHERE c_task = 'crawled' AND offered = 0
        AND chunk_id NOT IN (SELECT chunk_id FROM index_builder)
        AND EXISTS (SELECT 1 FROM link WHERE link.chunk_id = crawler.chunk_id)""",
    "a chunk that is built has a builder that lives": """
        SELECT chunk_id FROM index_builder JOIN host ON host.host = ib_host
        WHERE ib_task = 'building' AND state = 'offline'""",
    "pending links are counted per web host": """
        SELECT web_host FROM pending_host WHERE pending <> (
            SELECT count(*) FROM link
            WHERE link.web_host = pending_host.web_host AND state = 'pending' AND kind = 'page')""",
    "every pending link's web host is in line": """
        SELECT "index" FROM link WHERE state = 'pending' AND kind = 'page'
        AND web_host NOT IN (SELECT web_host FROM pending_host)""",
    "every index server that is not offline has every built chunk": """
        SELECT host.host FROM host CROSS JOIN index_builder AS built
        WHERE host.type = 'Index Server' AND host.state <> 'offline' AND built.ib_task = 'built' AND NOT EXISTS (
            SELECT 1 FROM index_server WHERE is_host = host.host AND chunk_id = built.chunk_id)""",
    "what is placed on an index server is of its row": """
        SELECT is_host FROM index_server JOIN host ON host.host = is_host WHERE host."row" <> index_server."row" """,
    "a slot belongs to a node that lives": """
        SELECT number FROM slot JOIN host ON host."index" = slot.node WHERE host.state = 'offline'""",
    "a slot belongs to a node that shares it": """
        SELECT number FROM slot JOIN host ON host."index" = slot.node
        WHERE pool <> CASE WHEN type = 'Crawler' THEN 'addresses' ELSE 'row ' || host."row" END""",
}

STATUSES = """
SELECT 'status:' || status, count(*) FROM link
WHERE kind = 'page' AND state = 'crawled' AND status >= 400 GROUP BY status"""


def audit(mgmt: SqlMgmt) -> None:
    mgmt._database.read(_audit)


def _audit(tx: Transaction) -> None:
    for rule, sql in RULES.items():
        assert tx.rows(sql) == [], rule
    states: dict[str, int] = dict(tx.rows("SELECT state, count(*) FROM link WHERE kind = 'page' GROUP BY state"))
    states |= dict(
        tx.rows("SELECT 'error:' || error, count(*) FROM link WHERE kind = 'page' AND state = 'error' GROUP BY error")
    )
    states |= dict(tx.rows(STATUSES))
    states |= dict(
        tx.rows("SELECT 'chunk:built', count(*) FROM index_builder WHERE ib_task = 'built' HAVING count(*) > 0")
    )
    tallies = {name: int(count) for name, count in tx.rows("SELECT name, sum(count) FROM tally GROUP BY name")}
    assert {name: count for name, count in tallies.items() if count} == states, "tallies are exact"

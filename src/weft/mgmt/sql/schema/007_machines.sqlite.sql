-- A chunk waits while its records are on a node that cannot be reached: since when, for whom, and until it is tried again.
-- SQLite cannot change a CHECK, so the table is made again, while foreign keys are not enforced.
CREATE TABLE new_index_builder (
    "index"       {serial},
    chunk_id      BIGINT       NOT NULL UNIQUE REFERENCES chunk (id) ON DELETE RESTRICT,
    ib_host       VARCHAR(255) NOT NULL REFERENCES host (host) ON DELETE RESTRICT,
    ib_task       VARCHAR(22)  NOT NULL CHECK (ib_task IN ('building', 'built', 'error', 'waiting')),
    attempt       INTEGER      NOT NULL,
    lost_leases   INTEGER      NOT NULL DEFAULT 0,
    errors        INTEGER      NOT NULL DEFAULT 0,
    reason        TEXT         NOT NULL DEFAULT '',
    waits_for     TEXT         NOT NULL DEFAULT '',
    waits_until   BIGINT       NOT NULL DEFAULT 0,
    waiting_since BIGINT       NOT NULL DEFAULT 0
);
INSERT INTO new_index_builder ("index", chunk_id, ib_host, ib_task, attempt, lost_leases, errors, reason)
SELECT "index", chunk_id, ib_host, ib_task, attempt, lost_leases, errors, reason FROM index_builder;
DROP TABLE index_builder;
ALTER TABLE new_index_builder RENAME TO index_builder;
CREATE INDEX index_builder_open ON index_builder (ib_host) WHERE ib_task <> 'built';
CREATE INDEX index_builder_waiting ON index_builder (waits_until) WHERE ib_task = 'waiting' AND waits_until > 0;

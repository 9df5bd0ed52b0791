-- The types of nodes are listed in weft alone (NodeType): a new one needs no migration.
-- SQLite cannot drop a CHECK, so the table is made again, while foreign keys are not enforced.
CREATE TABLE new_host (
    "index"      {serial},
    host         VARCHAR(255) NOT NULL UNIQUE,
    type         VARCHAR(22)  NOT NULL,
    state        VARCHAR(22)  NOT NULL CHECK (state IN ('online', 'paused', 'draining', 'offline')),
    health       VARCHAR(22)  NOT NULL CHECK (health IN ('healthy', 'probation', 'failure')),
    asked        VARCHAR(22)  NOT NULL CHECK (asked IN ('online', 'paused', 'draining')),
    epoch        BIGINT       NOT NULL,
    seen         BIGINT       NOT NULL,
    "row"        INTEGER      NOT NULL DEFAULT 0,
    placed       BIGINT       NOT NULL DEFAULT 0,
    acknowledged BIGINT       NOT NULL DEFAULT 0
);
INSERT INTO new_host ("index", host, type, state, health, asked, epoch, seen, "row", placed, acknowledged)
SELECT "index", host, type, state, health, asked, epoch, seen, "row", placed, acknowledged FROM host;
DROP TABLE host;
ALTER TABLE new_host RENAME TO host;

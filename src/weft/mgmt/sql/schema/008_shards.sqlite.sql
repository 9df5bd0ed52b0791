-- SQLite cannot change a key, so these tables are made again, while foreign keys are not enforced.

-- A server has a chunk once. Whether it has indexed it follows from the seqs.
CREATE TABLE new_index_server (
    "index"  {serial},
    "row"    INTEGER      NOT NULL,
    chunk_id BIGINT       NOT NULL REFERENCES chunk (id) ON DELETE RESTRICT,
    is_host  VARCHAR(255) NOT NULL REFERENCES host (host) ON DELETE RESTRICT,
    UNIQUE (is_host, chunk_id)
);
INSERT INTO new_index_server ("index", "row", chunk_id, is_host)
SELECT min("index"), min("row"), chunk_id, is_host FROM index_server GROUP BY is_host, chunk_id;
DROP TABLE index_server;
ALTER TABLE new_index_server RENAME TO index_server;

-- What several nodes share, by numbers: `pool` is `addresses` or, for the shards of a row of index servers, `row N`.
-- A slot that is leaving is given up with its owner's next call; `former` owned it before.
CREATE TABLE new_slot (
    pool       {key}   NOT NULL,
    number     INTEGER NOT NULL,
    node       BIGINT  REFERENCES host ("index") ON DELETE RESTRICT,
    is_leaving INTEGER NOT NULL DEFAULT 0 CHECK (is_leaving IN (0, 1)),
    former     BIGINT  REFERENCES host ("index") ON DELETE RESTRICT,
    PRIMARY KEY (pool, number)
);
INSERT INTO new_slot (pool, number, node, is_leaving) SELECT 'addresses', number, node, is_leaving FROM slot;
DROP TABLE slot;
ALTER TABLE new_slot RENAME TO slot;

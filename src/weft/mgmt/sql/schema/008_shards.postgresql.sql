-- A server has a chunk once. Whether it has indexed it follows from the seqs.
DELETE FROM index_server AS again USING index_server AS first
WHERE again.is_host = first.is_host AND again.chunk_id = first.chunk_id AND again."index" > first."index";
ALTER TABLE index_server DROP COLUMN number;
ALTER TABLE index_server ADD UNIQUE (is_host, chunk_id);

-- What several nodes share, by numbers: `pool` is `addresses` or, for the shards of a row of index servers, `row N`.
-- A slot that is leaving is given up with its owner's next call; `former` owned it before.
ALTER TABLE slot ADD COLUMN pool {key} NOT NULL DEFAULT 'addresses';
ALTER TABLE slot ALTER COLUMN pool DROP DEFAULT;
ALTER TABLE slot ALTER COLUMN number TYPE INTEGER;
ALTER TABLE slot ADD COLUMN former BIGINT REFERENCES host ("index") ON DELETE RESTRICT;
ALTER TABLE slot DROP CONSTRAINT slot_pkey;
ALTER TABLE slot ADD PRIMARY KEY (pool, number);

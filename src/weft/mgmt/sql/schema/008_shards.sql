-- A built chunk keeps the seq of a round by which it was whole in the index. Of older ones it is not known: an index
-- server that acknowledges anything has read all of them.
ALTER TABLE index_builder ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
UPDATE index_builder SET seq = 1 WHERE ib_task = 'built';
CREATE INDEX index_builder_seq ON index_builder (seq) WHERE ib_task = 'built';

-- An index server acknowledges a seq, no longer a number of its own.
ALTER TABLE host DROP COLUMN placed;
UPDATE host SET acknowledged = 0;

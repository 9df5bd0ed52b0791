-- A chunk waits while its records are on a node that cannot be reached: since when, for whom, and until it is tried again.
ALTER TABLE index_builder DROP CONSTRAINT index_builder_ib_task_check;
ALTER TABLE index_builder ADD CHECK (ib_task IN ('building', 'built', 'error', 'waiting'));
ALTER TABLE index_builder ADD COLUMN waits_for TEXT NOT NULL DEFAULT '';
ALTER TABLE index_builder ADD COLUMN waits_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE index_builder ADD COLUMN waiting_since BIGINT NOT NULL DEFAULT 0;
CREATE INDEX index_builder_waiting ON index_builder (waits_until) WHERE ib_task = 'waiting' AND waits_until > 0;

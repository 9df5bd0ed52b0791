-- Waits keep when they were set, so that a clock that was set back does not lengthen them. `newest` is the newest moment
-- of any call; back_by and back_at tell of the last time that the clock went back.
CREATE TABLE clock (
    number  SMALLINT NOT NULL PRIMARY KEY CHECK (number = 1),
    newest  BIGINT   NOT NULL,
    back_by BIGINT   NOT NULL DEFAULT 0,
    back_at BIGINT   NOT NULL DEFAULT 0
);
INSERT INTO clock (number, newest) SELECT 1, COALESCE(max(seen), 0) FROM host;

-- Of older waits it is known only that they were set before the last heartbeat.
ALTER TABLE pending_host ADD COLUMN set_at BIGINT NOT NULL DEFAULT 0;
UPDATE pending_host SET set_at = (SELECT CASE WHEN ready_at < newest THEN ready_at ELSE newest END FROM clock);
ALTER TABLE address ADD COLUMN set_at BIGINT NOT NULL DEFAULT 0;
UPDATE address SET set_at = (SELECT CASE WHEN expires < newest THEN expires ELSE newest END FROM clock);

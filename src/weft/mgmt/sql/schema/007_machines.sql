-- What a node told when it registered, and with its last heartbeat. `skew` is how far its clock is ahead of ours.
ALTER TABLE host ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE host ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE host ADD COLUMN token TEXT NOT NULL DEFAULT '';
ALTER TABLE host ADD COLUMN skew BIGINT;
ALTER TABLE host ADD COLUMN figures TEXT NOT NULL DEFAULT '{}';

-- What all processes must agree on, and which store holds the index.
CREATE TABLE identity (
    name  {key} NOT NULL PRIMARY KEY,
    value TEXT  NOT NULL
){without_rowid};

-- Under which lease the index of a cluster is owned: while that lease lives, nobody else takes it over.
ALTER TABLE bucket ADD COLUMN node BIGINT;
ALTER TABLE bucket ADD COLUMN node_epoch BIGINT;
-- Commands that need an index that holds still: until then, no batch is registered.
CREATE TABLE writing_hold (
    id         {key}  NOT NULL PRIMARY KEY,
    holder     TEXT   NOT NULL,
    held_until BIGINT NOT NULL
){without_rowid};

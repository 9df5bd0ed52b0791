-- The types of nodes are listed in weft alone (NodeType): a new one needs no migration.
ALTER TABLE host DROP CONSTRAINT host_type_check;

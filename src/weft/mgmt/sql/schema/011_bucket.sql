-- Who owns the index of a cluster, and the last batch that owner registered: whoever takes over writes it again first.
CREATE TABLE bucket (
    number INTEGER NOT NULL PRIMARY KEY,
    epoch  BIGINT  NOT NULL,
    seq    BIGINT  NOT NULL,
    batch  {bytes} NOT NULL
);

-- Tokens of programs that change something through the web app. Only a hash of each is kept; one that is revoked is gone.
CREATE TABLE web_token (
    id      {key}  NOT NULL PRIMARY KEY,
    name    TEXT   NOT NULL,
    digest  TEXT   NOT NULL,
    created BIGINT NOT NULL,
    used    BIGINT NOT NULL DEFAULT 0
){without_rowid};

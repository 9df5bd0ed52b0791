-- Pages that a person named and wants fetched now, until they are; `hops` are redirects that led from the one named.
CREATE TABLE wanted (
    uri        {key}   NOT NULL PRIMARY KEY,
    url        TEXT    NOT NULL,
    any_scheme INTEGER NOT NULL CHECK (any_scheme IN (0, 1)),
    hops       INTEGER NOT NULL,
    asked      BIGINT  NOT NULL
){without_rowid};

-- Until when the server itself asked us to wait: this wait holds whatever a person asks for.
ALTER TABLE pending_host ADD COLUMN asked_until BIGINT NOT NULL DEFAULT 0;

-- Why there is no answer, and a hash of the settings that it was fetched with: under others it counts no more.
ALTER TABLE robots ADD COLUMN error TEXT NOT NULL DEFAULT '';
ALTER TABLE robots ADD COLUMN settings TEXT NOT NULL DEFAULT '';

-- The seed whose redirects led to this site, which nobody named.
ALTER TABLE site ADD COLUMN led_from TEXT NOT NULL DEFAULT '';

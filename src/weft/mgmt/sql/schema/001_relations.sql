-- Who holds which work. Times are milliseconds since 1970 by this database's clock, but for those of results.

-- Our own processes. `epoch` is raised by every registration and whenever a lease ends; work shown with an older one is refused.
CREATE TABLE host (
    "index"      {serial},
    host         VARCHAR(255) NOT NULL UNIQUE,
    type         VARCHAR(22)  NOT NULL CHECK (type IN ('Crawler', 'Spider', 'Index Builder', 'Index Server')),
    state        VARCHAR(22)  NOT NULL CHECK (state IN ('online', 'paused', 'draining', 'offline')),
    health       VARCHAR(22)  NOT NULL CHECK (health IN ('healthy', 'probation', 'failure')),
    asked        VARCHAR(22)  NOT NULL CHECK (asked IN ('online', 'paused', 'draining')),
    epoch        BIGINT       NOT NULL,
    seen         BIGINT       NOT NULL,
    "row"        INTEGER      NOT NULL DEFAULT 0,
    placed       BIGINT       NOT NULL DEFAULT 0,
    acknowledged BIGINT       NOT NULL DEFAULT 0
);

CREATE TABLE chunk (
    id      {serial},
    "index" BIGINT GENERATED ALWAYS AS (id) STORED
);

-- A URL known to weft; its index is the DOC_ID for good. One that is pending has no chunk.
CREATE TABLE link (
    "index"           {serial},
    link              TEXT        NOT NULL,
    chunk_id          BIGINT      REFERENCES chunk (id) ON DELETE RESTRICT,
    state             VARCHAR(22) NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'crawling', 'crawled', 'error')),
    kind              VARCHAR(6)  NOT NULL CHECK (kind IN ('page', 'robots')),
    uri               {key}       NOT NULL,
    web_host          {key}       NOT NULL,
    priority          INTEGER     NOT NULL DEFAULT 0,
    node              BIGINT,
    claim             BIGINT      NOT NULL DEFAULT 0,
    losses            INTEGER     NOT NULL DEFAULT 0,
    replacement       BIGINT      REFERENCES link ("index") ON DELETE RESTRICT,
    replacement_claim BIGINT,
    -- what the next fetch asks with
    known_etag        TEXT        NOT NULL DEFAULT '',
    known_modified    TEXT        NOT NULL DEFAULT '',
    -- how the last fetch ended
    result_claim      BIGINT      NOT NULL DEFAULT 0,
    status            INTEGER     NOT NULL DEFAULT 0,
    error             TEXT        NOT NULL DEFAULT '',
    warc_node         TEXT,
    warc_file         TEXT,
    warc_offset       BIGINT,
    warc_length       BIGINT,
    started           BIGINT      NOT NULL DEFAULT 0,
    ended             BIGINT      NOT NULL DEFAULT 0,
    size              BIGINT      NOT NULL DEFAULT 0,
    retry_after       BIGINT      NOT NULL DEFAULT 0,
    etag              TEXT        NOT NULL DEFAULT '',
    last_modified     TEXT        NOT NULL DEFAULT '',
    location          TEXT        NOT NULL DEFAULT '',
    content_type      TEXT        NOT NULL DEFAULT '',
    UNIQUE (uri, kind),
    CHECK ((state = 'crawling') = (node IS NOT NULL)),
    CHECK ((chunk_id IS NOT NULL) = (kind = 'page' AND state <> 'pending'))
);
CREATE INDEX link_pending ON link (web_host, priority, "index") WHERE state = 'pending' AND kind = 'page';
CREATE INDEX link_robots ON link (node) WHERE state = 'crawling' AND kind = 'robots';
CREATE INDEX link_chunk ON link (chunk_id) WHERE chunk_id IS NOT NULL;

-- `crawling` and `finished` count the chunk's links until it is crawled; `offered` is 1 while it waits for a builder.
CREATE TABLE crawler (
    "index"  {serial},
    chunk_id BIGINT       NOT NULL UNIQUE REFERENCES chunk (id) ON DELETE RESTRICT,
    c_host   VARCHAR(255) NOT NULL REFERENCES host (host) ON DELETE RESTRICT,
    c_task   VARCHAR(22)  NOT NULL CHECK (c_task IN ('crawling', 'crawled')),
    crawling INTEGER      NOT NULL CHECK (crawling >= 0),
    finished INTEGER      NOT NULL CHECK (finished >= 0),
    offered  INTEGER      NOT NULL DEFAULT 0 CHECK (offered IN (0, 1)),
    CHECK ((c_task = 'crawling') = (crawling > 0))
);
CREATE INDEX crawler_unfinished ON crawler (c_host, finished) WHERE c_task = 'crawling';
CREATE INDEX crawler_offered ON crawler (chunk_id) WHERE offered = 1;
CREATE INDEX crawler_empty ON crawler (chunk_id) WHERE c_task = 'crawled' AND finished = 0;

CREATE TABLE index_builder (
    "index"     {serial},
    chunk_id    BIGINT       NOT NULL UNIQUE REFERENCES chunk (id) ON DELETE RESTRICT,
    ib_host     VARCHAR(255) NOT NULL REFERENCES host (host) ON DELETE RESTRICT,
    ib_task     VARCHAR(22)  NOT NULL CHECK (ib_task IN ('building', 'built', 'error')),
    attempt     INTEGER      NOT NULL,
    lost_leases INTEGER      NOT NULL DEFAULT 0,
    errors      INTEGER      NOT NULL DEFAULT 0,
    reason      TEXT         NOT NULL DEFAULT ''
);
CREATE INDEX index_builder_open ON index_builder (ib_host) WHERE ib_task <> 'built';

-- `number` rises by one per server, without gaps.
CREATE TABLE index_server (
    "index"  {serial},
    "row"    INTEGER      NOT NULL,
    chunk_id BIGINT       NOT NULL REFERENCES chunk (id) ON DELETE RESTRICT,
    is_host  VARCHAR(255) NOT NULL REFERENCES host (host) ON DELETE RESTRICT,
    number   BIGINT       NOT NULL,
    UNIQUE (is_host, number)
);

-- Web hosts: how many of their links are pending, and before which moment none is given out. Who waited longest goes first.
CREATE TABLE pending_host (
    web_host {key}    NOT NULL PRIMARY KEY,
    pending  BIGINT   NOT NULL CHECK (pending >= 0),
    ready_at BIGINT   NOT NULL,
    slot     SMALLINT NOT NULL DEFAULT -1
){without_rowid};
CREATE INDEX pending_host_line ON pending_host (ready_at, web_host) WHERE pending > 0;
CREATE INDEX pending_host_slot ON pending_host (slot, ready_at, web_host) WHERE pending > 0;

CREATE TABLE robots (
    origin  {key}   NOT NULL PRIMARY KEY,
    status  INTEGER NOT NULL,
    body    {bytes} NOT NULL,
    fetched BIGINT  NOT NULL,
    expires BIGINT  NOT NULL
);

CREATE TABLE address (
    web_host {key}  NOT NULL PRIMARY KEY,
    ip       TEXT   NOT NULL,
    ip_key   TEXT   NOT NULL,
    expires  BIGINT NOT NULL,
    reason   TEXT   NOT NULL
){without_rowid};

-- The 256 parts of all addresses and whose they are; one that is leaving is given up with its owner's next call.
CREATE TABLE slot (
    number     SMALLINT NOT NULL PRIMARY KEY,
    node       BIGINT   REFERENCES host ("index") ON DELETE RESTRICT,
    is_leaving INTEGER  NOT NULL DEFAULT 0 CHECK (is_leaving IN (0, 1))
);

-- What the user said about a host or a domain; seeds and settings are JSON.
CREATE TABLE site (
    name        {key}        NOT NULL PRIMARY KEY,
    scope       VARCHAR(22)  NOT NULL CHECK (scope IN ('hosts', 'domains', 'any')),
    is_excluded INTEGER      NOT NULL CHECK (is_excluded IN (0, 1)),
    seeds       TEXT         NOT NULL,
    settings    TEXT         NOT NULL
);

-- Pages by state, errors by class and built chunks, in parts that are added up: writers of different parts do not wait for each other.
CREATE TABLE tally (
    part  INTEGER NOT NULL,
    name  {key}   NOT NULL,
    count BIGINT  NOT NULL,
    PRIMARY KEY (part, name)
){without_rowid};

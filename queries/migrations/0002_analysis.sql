-- What the later steps derive. These tables are rebuilt whole whenever the
-- evidence or the rules change; nothing here is edited by hand.

-- incident.yaml as it was read.
CREATE TABLE incident_nodes (
    node                 VARCHAR PRIMARY KEY,
    role                 VARCHAR,
    engine               VARCHAR,
    engine_version       VARCHAR,
    transfer_backend     VARCHAR,
    ranks                BIGINT,
    pool_tokens          BIGINT,
    page_size            BIGINT,
    context_len          BIGINT,
    deferred_kv_release  BOOLEAN,
    kv_checksum          BOOLEAN,
    kv_canary            VARCHAR,
    line                 BIGINT NOT NULL
);

CREATE TABLE incident_tenants (
    tenant_id    VARCHAR PRIMARY KEY,
    name         VARCHAR,
    country      VARCHAR,
    contact      VARCHAR,
    sector       VARCHAR,
    notice_hours DOUBLE,
    role         VARCHAR,
    line         BIGINT NOT NULL
);

-- Which node an engine log belongs to and how its clock maps to UTC.
CREATE TABLE placements (
    source_id INTEGER PRIMARY KEY,
    node      VARCHAR,            -- NULL: no node
    node_how  VARCHAR NOT NULL,
    zone      VARCHAR,            -- IANA name; NULL where offset_s or nothing is known
    offset_s  BIGINT,             -- seconds east of UTC, where inferred
    clock_how VARCHAR NOT NULL    -- stated, inferred (with the evidence), unusable (with the reason)
);

-- Records that repeat another one's id and time: kept, counted, left out of requests.
CREATE TABLE duplicate_records (
    source_id    INTEGER NOT NULL,
    line         BIGINT NOT NULL,
    of_source_id INTEGER NOT NULL,
    of_line      BIGINT NOT NULL
);

-- One row per request and engine side, from request lines and time stats.
CREATE TABLE engine_requests (
    engine_request_id INTEGER PRIMARY KEY,
    source_id         INTEGER NOT NULL,
    line              BIGINT NOT NULL,
    byte_offset       BIGINT NOT NULL,
    node              VARCHAR,
    role              VARCHAR,
    dp_rank           BIGINT,
    rid               VARCHAR,
    bootstrap_room    UBIGINT,
    first_seen_at     TIMESTAMPTZ,
    last_seen_at      TIMESTAMPTZ,
    prompt_tokens     BIGINT,
    cached_tokens     BIGINT,
    completion_tokens BIGINT,
    e2e_ms            DOUBLE,
    finish_reason     VARCHAR,
    status            BIGINT
);

-- Gateway record joined to engine side.
CREATE TABLE request_joins (
    source_id         INTEGER NOT NULL,
    line              BIGINT NOT NULL,
    prefill_request   INTEGER,
    decode_request    INTEGER,
    joined_by         VARCHAR NOT NULL   -- request_id, bootstrap_room
);

CREATE TABLE pools (
    node           VARCHAR,            -- NULL: unplaced
    role           VARCHAR,
    rank           BIGINT,             -- data-parallel rank; NULL: the log names none
    valid_from     TIMESTAMPTZ,        -- NULL: open
    valid_to       TIMESTAMPTZ,        -- NULL: open
    engine         VARCHAR,
    engine_version VARCHAR,
    pool_tokens    BIGINT,
    page_size      BIGINT,
    context_len    BIGINT,
    input_limit    BIGINT,             -- M: a prompt of N >= M tokens is rejected
    capacity_gap   BOOLEAN,            -- context_len > M + 6
    origin         VARCHAR NOT NULL,   -- log, incident.yaml
    role_how       VARCHAR,
    version_how    VARCHAR,
    transfer_backend VARCHAR,
    flags          VARCHAR,
    notes          VARCHAR[] NOT NULL,
    source_id      INTEGER,
    line           BIGINT
);

-- Lower envelope of time to first token: for prompts of at least from_tokens
-- uncached tokens (up to the next row) nothing ordinary was faster than
-- bound_ms + slope_ms * (tokens - from_tokens).
CREATE TABLE ttft_envelope (
    prefill_node VARCHAR NOT NULL,     -- '' : all nodes together
    from_tokens  BIGINT NOT NULL,
    bound_ms     DOUBLE NOT NULL,
    slope_ms     DOUBLE NOT NULL,
    support      BIGINT NOT NULL,      -- ordinary requests behind the envelope
    extrapolated BOOLEAN NOT NULL
);

CREATE TABLE rule_runs (
    rule_id        VARCHAR PRIMARY KEY,
    title          VARCHAR NOT NULL,
    defect         VARCHAR NOT NULL,
    level          VARCHAR NOT NULL,
    digest         VARCHAR NOT NULL,   -- SHA-256 of the rule file
    state          VARCHAR NOT NULL,   -- ran, did not run
    why_not        VARCHAR,
    assessed       BIGINT,
    hits           BIGINT
);

CREATE TABLE rule_gaps (
    rule_id   VARCHAR NOT NULL,
    field     VARCHAR NOT NULL,
    rows_lacking BIGINT NOT NULL
);

CREATE TABLE hits (
    rule_id         VARCHAR NOT NULL,
    source_id       INTEGER NOT NULL,
    line            BIGINT NOT NULL,
    level           VARCHAR NOT NULL,
    reason          VARCHAR NOT NULL,
    input_limit     BIGINT,
    ttft_bound_ms   DOUBLE,
    probability     DOUBLE
);

CREATE TABLE suspects (
    source_id       INTEGER NOT NULL,
    line            BIGINT NOT NULL,
    defect          VARCHAR NOT NULL,
    level           VARCHAR NOT NULL,
    input_limit     BIGINT,
    ttft_bound_ms   DOUBLE,
    rules           VARCHAR[] NOT NULL,
    reasons         VARCHAR[] NOT NULL,
    PRIMARY KEY (source_id, line, defect)
);

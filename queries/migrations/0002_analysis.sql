-- What the later steps derive. These tables are rebuilt whole whenever the
-- evidence or the rules change; nothing here is edited by hand.

-- Tenants as incident.yaml states them.
CREATE TABLE incident_tenants (
    tenant_id    VARCHAR PRIMARY KEY,
    name         VARCHAR,
    country      VARCHAR,
    contact      VARCHAR,
    sector       VARCHAR,
    notice_hours BIGINT,
    role         VARCHAR
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

-- Measured pools, one row per node, data-parallel rank and boot.
CREATE TABLE pools (
    pool_id          INTEGER PRIMARY KEY,
    node             VARCHAR,            -- NULL: unplaced
    role             VARCHAR,            -- prefill, decode, unified; NULL: unknown
    role_how         VARCHAR NOT NULL,
    rank             BIGINT,             -- NULL: the log names none
    ranks            BIGINT,             -- data-parallel ranks of this boot, NULL: unknown
    valid_from       TIMESTAMPTZ,        -- NULL: open
    valid_to         TIMESTAMPTZ,        -- NULL: open
    engine           VARCHAR,
    engine_version   VARCHAR,
    version_how      VARCHAR NOT NULL,
    pool_tokens      BIGINT,
    page_size        BIGINT,
    context_len      BIGINT,
    input_limit      BIGINT,             -- M: a prompt of N >= M tokens is rejected
    capacity_gap     BOOLEAN,            -- the pool is smaller than the context; NULL: unknown
    origin           VARCHAR NOT NULL,   -- what stated the pool: log, incident.yaml, nothing
    transfer_backend VARCHAR,
    flags            VARCHAR,            -- JSON
    notes            VARCHAR[] NOT NULL,
    source_id        INTEGER,
    line             BIGINT
);

-- Whether a boot's engine version lies in the range of an advisory.
CREATE TABLE pool_advisories (
    pool_id  INTEGER NOT NULL,
    advisory VARCHAR NOT NULL,
    defect   VARCHAR NOT NULL,
    state    VARCHAR NOT NULL            -- affected, fixed, closed by flag, unverified, unknown version, unknown back end
);

-- Lower envelope of time to first token: an ordinary prompt of n uncached
-- tokens, from_tokens <= n < the next row's from_tokens, is not answered before
-- bound_ms + slope_ms * (n - from_tokens).
CREATE TABLE ttft_envelope (
    prefill_node VARCHAR NOT NULL,     -- '' : all nodes together
    from_tokens  BIGINT NOT NULL,
    bound_ms     DOUBLE NOT NULL,
    slope_ms     DOUBLE NOT NULL,
    support      BIGINT NOT NULL,      -- ordinary requests behind the envelope
    extrapolated BOOLEAN NOT NULL
);

-- What became of each rule.
CREATE TABLE rule_runs (
    rule     VARCHAR PRIMARY KEY,
    rule_id  VARCHAR NOT NULL,
    title    VARCHAR NOT NULL,
    subject  VARCHAR NOT NULL,   -- what a hit names: request, node
    defect   VARCHAR NOT NULL,
    family   VARCHAR NOT NULL,   -- the evidence it reads: rules of one family are no independent signs
    level    VARCHAR NOT NULL,   -- the highest level it gives
    status   VARCHAR NOT NULL,   -- stable, experimental, hypothesis
    digest   VARCHAR NOT NULL,   -- SHA-256 of the rule file
    settings VARCHAR NOT NULL,   -- values of its parameters
    ran      BOOLEAN NOT NULL,
    why_not  VARCHAR,
    assessed BIGINT NOT NULL,
    not_assessed BIGINT NOT NULL,
    hits     BIGINT NOT NULL,
    suppressed BIGINT NOT NULL   -- hits that a site's filter sets aside, not among hits
);

-- How long each rule took: the one table that differs from run to run.
CREATE TABLE rule_times (
    rule     VARCHAR PRIMARY KEY,
    took_ms  DOUBLE NOT NULL
);

-- Which level signs that read different evidence come to (rules/levels.yaml).
CREATE TABLE level_combinations (
    strongest VARCHAR NOT NULL,
    families  BIGINT NOT NULL,
    gives     VARCHAR NOT NULL
);

-- What rules say of nodes.
CREATE TABLE node_findings (
    rule     VARCHAR NOT NULL,
    node     VARCHAR,
    rank     BIGINT,
    found_at TIMESTAMPTZ,        -- NULL: for as long as the evidence lasts
    reason   VARCHAR NOT NULL
);

-- Rows that a rule could not assess, by the field that was missing.
CREATE TABLE rule_gaps (
    rule         VARCHAR NOT NULL,
    field        VARCHAR NOT NULL,
    rows_lacking BIGINT NOT NULL
);

CREATE TABLE hits (
    rule          VARCHAR NOT NULL,
    source_id     INTEGER NOT NULL,
    line          BIGINT NOT NULL,
    level         VARCHAR NOT NULL,
    reason        VARCHAR NOT NULL,
    input_limit   BIGINT,
    ttft_bound_ms DOUBLE,
    probability   DOUBLE,
    suppressed    VARCHAR         -- why a site's filter sets it aside; NULL: it does not
);

CREATE TABLE suspects (
    source_id       INTEGER NOT NULL,
    line            BIGINT NOT NULL,
    defect          VARCHAR NOT NULL,
    level           VARCHAR NOT NULL,
    probability     DOUBLE NOT NULL,     -- that the request met the condition, 1 where nothing is uncertain
    input_limit     BIGINT,
    ttft_bound_ms   DOUBLE,
    rules           VARCHAR[] NOT NULL,
    reasons         VARCHAR[] NOT NULL,
    PRIMARY KEY (source_id, line, defect)
);

-- The case as ingest fills it. Every row of evidence leads back to
-- (source_id, line, byte_offset).

CREATE TABLE case_facts (
    name  VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);

-- One row per distinct content. A file that could not be opened has no digest.
CREATE TABLE sources (
    source_id      INTEGER PRIMARY KEY,
    sha256         VARCHAR UNIQUE,
    bytes          BIGINT,              -- as the file lies on disk
    content_bytes  BIGINT,              -- after inflation
    compression    VARCHAR NOT NULL,    -- none, gzip, zstd
    encoding       VARCHAR NOT NULL,    -- utf-8, utf-16le, utf-16be, binary
    format         VARCHAR NOT NULL,
    format_reason  VARCHAR NOT NULL,
    state          VARCHAR NOT NULL,    -- read, partly read, unread
    problem        VARCHAR,             -- why it is not wholly read
    records        BIGINT NOT NULL,
    rejected       BIGINT NOT NULL,
    ignored        BIGINT NOT NULL,
    record_bytes   BIGINT NOT NULL,
    rejected_bytes BIGINT NOT NULL,
    ignored_bytes  BIGINT NOT NULL,
    notes          VARCHAR[] NOT NULL   -- clock steps, epoch units, and the like
);

-- Every name under which a content was found.
CREATE TABLE source_paths (
    source_id INTEGER NOT NULL,
    path      VARCHAR NOT NULL          -- may have held other content at another run
);

CREATE TABLE rejects (
    source_id   INTEGER NOT NULL,
    line        BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    byte_length BIGINT NOT NULL,
    reason      VARCHAR NOT NULL,
    preview     VARCHAR NOT NULL
);

CREATE TABLE gateway_records (
    source_id           INTEGER NOT NULL,
    line                BIGINT NOT NULL,
    byte_offset         BIGINT NOT NULL,
    byte_length         BIGINT NOT NULL,
    request_id          VARCHAR,
    tenant_id           VARCHAR,
    received_at         TIMESTAMPTZ,
    time_basis          VARCHAR,
    utc_offset_min      INTEGER,
    model               VARCHAR,
    prefill_node        VARCHAR,
    decode_node         VARCHAR,
    prefill_rank        BIGINT,
    decode_rank         BIGINT,
    bootstrap_room      UBIGINT,
    prompt_tokens       BIGINT,
    cached_tokens       BIGINT,
    completion_tokens   BIGINT,
    ttft_ms             DOUBLE,
    e2e_ms              DOUBLE,
    first_token_at      TIMESTAMPTZ,
    finished_at         TIMESTAMPTZ,
    aborted_at          TIMESTAMPTZ,
    http_status         BIGINT,
    finish_reason       VARCHAR,
    api_key_id          VARCHAR,
    session_id          VARCHAR,
    retry_of            VARCHAR,
    stream              BOOLEAN,
    client_disconnected BOOLEAN,
    prompt_text         VARCHAR,
    response_text       VARCHAR,
    extra               VARCHAR
);

CREATE TABLE engine_records (
    source_id         INTEGER NOT NULL,
    line              BIGINT NOT NULL,
    byte_offset       BIGINT NOT NULL,
    byte_length       BIGINT NOT NULL,
    kind              VARCHAR NOT NULL,
    local_at          TIMESTAMP,        -- the engine's wall clock, zone unstated
    stated_at         TIMESTAMPTZ,      -- where the line itself fixes the instant
    role              VARCHAR,
    dp_rank           BIGINT,
    tp_rank           BIGINT,
    pp_rank           BIGINT,
    rid               VARCHAR,
    bootstrap_room    UBIGINT,
    prompt_tokens     BIGINT,
    cached_tokens     BIGINT,
    completion_tokens BIGINT,
    limit_tokens      BIGINT,
    e2e_ms            DOUBLE,
    finish_reason     VARCHAR,
    status            BIGINT,
    new_seqs          BIGINT,
    new_tokens        BIGINT,
    running_reqs      BIGINT,
    queue_reqs        BIGINT,
    tokens            BIGINT,
    usage             DOUBLE,
    prealloc_usage    DOUBLE,
    prealloc_reqs     BIGINT,
    transfer_reqs     BIGINT,
    retracted_reqs    BIGINT,
    engine            VARCHAR,
    engine_version    VARCHAR,
    page_size         BIGINT,
    context_len       BIGINT,
    pool_tokens       BIGINT,
    max_input_len     BIGINT,
    tp_size           BIGINT,
    dp_size           BIGINT,
    pp_size           BIGINT,
    transfer_backend  VARCHAR,
    flags             VARCHAR,
    message           VARCHAR
);

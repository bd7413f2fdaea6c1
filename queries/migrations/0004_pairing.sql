-- Whose data: what the replay of page allocators and the estimate of exposure
-- leave. Rebuilt whole, like all tables of analysis.

-- One row per suspect and possible source. Probability is the share of
-- replayed orderings in which the suspect attended to a row of the source;
-- tokens and pages are means over all orderings, so that they sum to what the
-- suspect reserved and did not write.
CREATE TABLE source_pairs (
    suspect_source_id INTEGER NOT NULL,
    suspect_line      BIGINT NOT NULL,
    defect            VARCHAR NOT NULL,
    source_kind       VARCHAR NOT NULL,   -- request, unknown, none
    source_source_id  INTEGER,            -- place of the source's record; NULL unless source_kind is request
    source_line       BIGINT,
    decode_node       VARCHAR,            -- where the pair occurred most often
    decode_rank       BIGINT,
    probability       DOUBLE NOT NULL,
    mc_error          DOUBLE NOT NULL,    -- standard error of probability from the number of orderings
    exposed_tokens    DOUBLE NOT NULL,
    exposed_pages     DOUBLE NOT NULL,
    source_from_token BIGINT,             -- in the source's own sequence, over all orderings
    source_to_token   BIGINT,             -- excluded
    source_part       VARCHAR             -- prompt, answer, both
);

-- How each suspect was replayed, on each rank that may have served it.
CREATE TABLE pairings (
    suspect_source_id INTEGER NOT NULL,
    suspect_line      BIGINT NOT NULL,
    defect            VARCHAR NOT NULL,
    decode_node       VARCHAR,            -- NULL: not replayed
    decode_rank       BIGINT,
    node_probability  DOUBLE,
    policy            VARCHAR,            -- sweep, lifo
    replayed_from     TIMESTAMPTZ,        -- start of the history that was replayed
    requests          BIGINT NOT NULL,    -- in that history
    orderings         BIGINT NOT NULL,
    reached           BIGINT NOT NULL,    -- orderings in which its pages could be read off
    cross_probability DOUBLE NOT NULL,    -- that it attended to a row of another tenant's named request
    missing_requests  DOUBLE NOT NULL,    -- requests that the logs lack, as the samples carry them on average
    missing_read      DOUBLE NOT NULL,    -- of them, those that some suspect of this history attended to
    missing_suspects  DOUBLE NOT NULL,    -- of them, those of which only a placeholder can have come
    notes             VARCHAR[] NOT NULL
);

-- For requests whose decode rank no row names: how much likelier what a rank said
-- of its pool is if the request ran there than if it did not. Ranks that said
-- nothing of it are left out; theirs is 1.
CREATE TABLE rank_ratios (
    source_id   INTEGER NOT NULL,
    line        BIGINT NOT NULL,
    decode_node VARCHAR NOT NULL,
    decode_rank BIGINT NOT NULL,
    ratio       DOUBLE NOT NULL
);

-- The stretches of history that are being read for the replay: scratch of the
-- steps pairing_rows and pairing_figures.
CREATE TABLE replay_windows (
    window_id INTEGER PRIMARY KEY,
    node      VARCHAR NOT NULL,
    rank      BIGINT NOT NULL,
    since     TIMESTAMPTZ NOT NULL,
    until     TIMESTAMPTZ NOT NULL
);

-- One row per request whose KV some suspect of a defect may have read, all
-- suspects together. A request read by several in one ordering counts once.
CREATE TABLE source_reads (
    source_id         INTEGER NOT NULL,
    line              BIGINT NOT NULL,
    defect            VARCHAR NOT NULL,
    probability       DOUBLE NOT NULL,    -- read by any suspect
    cross_probability DOUBLE NOT NULL,    -- by one of another tenant
    firm_probability  DOUBLE NOT NULL,    -- by one of another tenant whose level is certain or strong
    cross_tokens      DOUBLE NOT NULL     -- read by other tenants, a token once for each suspect
);

-- How many of a tenant's requests, in either direction.
CREATE TABLE tenant_exposure (
    tenant_id      VARCHAR NOT NULL,
    direction      VARCHAR NOT NULL,      -- source, recipient
    defect         VARCHAR NOT NULL,
    floor          BIGINT NOT NULL,
    best           DOUBLE,                -- NULL: not estimated
    ceiling        BIGINT NOT NULL,
    exposed_tokens DOUBLE NOT NULL,
    first_at       TIMESTAMPTZ,
    last_at        TIMESTAMPTZ,
    state          VARCHAR NOT NULL,      -- confirmed, exposed, not ruled out, ruled out
    reason         VARCHAR NOT NULL
);

-- The whole incident, one row per defect class.
CREATE TABLE defect_exposure (
    defect           VARCHAR NOT NULL,
    suspects_floor   BIGINT NOT NULL,
    suspects_best    DOUBLE,
    suspects_ceiling BIGINT NOT NULL,
    recipients_floor   BIGINT NOT NULL,   -- suspects that attended to another tenant's rows
    recipients_best    DOUBLE,
    recipients_ceiling BIGINT NOT NULL,
    sources_floor    BIGINT NOT NULL,
    sources_best     DOUBLE,
    sources_ceiling  BIGINT NOT NULL,
    tenants_exposed  BIGINT NOT NULL,     -- as sources
    tenants_open     BIGINT NOT NULL,     -- not ruled out
    unseen           DOUBLE,              -- suspects that no detector caught; NULL: not estimable
    unseen_low       DOUBLE,
    unseen_high      DOUBLE,
    unseen_method    VARCHAR NOT NULL,    -- or why it is not estimable
    began_after      TIMESTAMPTZ,         -- last clean evidence before the first bad one; NULL: none
    began_by         TIMESTAMPTZ,         -- first bad evidence
    ended_after      TIMESTAMPTZ,         -- last bad evidence
    ended_by         TIMESTAMPTZ,         -- first clean evidence after it; NULL: none
    assumptions      VARCHAR[] NOT NULL
);

-- What the analysis finds where the answer is known: on a copy of the case with
-- nodes or times shuffled (found: named pairs that come back by chance), and
-- with synthetic leaks put in (found: those that a rule flags).
CREATE TABLE controls (
    control VARCHAR NOT NULL,             -- shuffled nodes, shuffled times, injected
    defect  VARCHAR NOT NULL,
    total   BIGINT NOT NULL,              -- pairs that the case names with 0.5 and more; injected leaks
    found   BIGINT NOT NULL,
    low     DOUBLE,                       -- of the share, 95 %; NULL: of nothing
    high    DOUBLE,
    note    VARCHAR NOT NULL
);

-- Suspects come from two sides: rules flag rows by what the logs say of them,
-- and the replay finds requests whose pages someone else's KV went into.
ALTER TABLE suspects RENAME TO flagged;
CREATE TABLE crossed AS FROM flagged LIMIT 0;
CREATE VIEW suspects AS FROM flagged UNION ALL FROM crossed ANTI JOIN flagged USING (source_id, line, defect);

-- Who was told what, when, and what was decided: rows are added, never changed.
CREATE TABLE notices (
    number      INTEGER PRIMARY KEY,
    tenant_id   VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL,     -- sent, received, tenant aware, regulator told, people told, decision, note
    done_at     TIMESTAMPTZ NOT NULL,
    who         VARCHAR NOT NULL,
    channel     VARCHAR NOT NULL,
    reference   VARCHAR NOT NULL,     -- a message id, a case number
    note        VARCHAR NOT NULL,     -- for a late step: why
    recorded_at TIMESTAMPTZ NOT NULL
);

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
    missing_requests  DOUBLE NOT NULL,    -- requests that the logs lack, as the samples carry them on average
    notes             VARCHAR[] NOT NULL
);

-- The stretches of history that are replayed, one per rank and boot or part of
-- a boot.
CREATE TABLE replay_windows (
    window_id INTEGER PRIMARY KEY,
    node      VARCHAR NOT NULL,
    rank      BIGINT NOT NULL,
    since     TIMESTAMPTZ NOT NULL,
    until     TIMESTAMPTZ NOT NULL
);

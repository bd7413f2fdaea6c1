-- Pairs of early releases: later prompts that may have been prefilled into pages
-- which a prefill node freed while they were still being copied. A freed page
-- lies anywhere among the free ones, of which a node that keeps prefixes holds
-- few: the chance that it is still untouched falls with the uncached tokens
-- prefilled since, by a factor of e for every 7 % of the pool (for every 30,000
-- tokens where no pool is known).
CREATE OR REPLACE TEMP TABLE reused AS
WITH failed AS (
    SELECT bootstrap_room, rid, min(logged_at) AS at, any_value(node ORDER BY logged_at) AS node, any_value(dp_rank ORDER BY logged_at) AS rank
    FROM engine_events WHERE kind = 'transfer_failed' AND role = 'prefill' AND logged_at IS NOT NULL
    GROUP BY bootstrap_room, rid
), copied AS (
    SELECT s.source_id, s.line, s.probability, r.tenant_id, r.prompt_tokens, coalesce(r.first_token_at, r.finished_at, r.received_at) AS until_at,
           f.at, f.node, coalesce(r.prefill_rank, f.rank) AS rank
    FROM flagged s JOIN requests r USING (source_id, line)
    JOIN failed f ON (r.bootstrap_room > 0 AND f.bootstrap_room = r.bootstrap_room) OR f.rid = r.request_id
    WHERE s.defect = 'abort-early-release'
    QUALIFY row_number() OVER (PARTITION BY s.source_id, s.line ORDER BY f.at) = 1
), ranks AS (
    SELECT node, count(DISTINCT coalesce(rank, 0)) AS ranks, max(pool_tokens) AS pool, max(page_size) AS page_size
    FROM pools WHERE role = 'prefill' GROUP BY node
), later AS (
    SELECT c.*, r.source_id AS later_source, r.line AS later_line, r.tenant_id AS later_tenant, r.received_at,
           greatest(0, r.prompt_tokens - coalesce(r.cached_tokens, 0)) AS uncached, coalesce(r.cached_tokens, 0) AS cached,
           CASE WHEN r.prefill_node IS NULL THEN 1 / (SELECT sum(ranks) FROM ranks)
                WHEN r.prefill_rank IS NULL OR c.rank IS NULL THEN 1 / n.ranks
                ELSE 1 END AS here,
           coalesce(0.07 * n.pool, 30000) AS scale, coalesce(n.page_size, 64) AS page_size
    FROM copied c LEFT JOIN ranks n ON n.node = c.node
    JOIN requests r ON r.received_at BETWEEN c.at AND c.until_at AND (r.prefill_node IS NULL OR r.prefill_node = c.node)
     AND (r.prefill_node IS NULL OR r.prefill_rank IS NULL OR c.rank IS NULL OR r.prefill_rank = c.rank)
     AND (r.source_id, r.line) <> (c.source_id, c.line)
    WHERE r.prompt_tokens > 0 AND coalesce(r.http_status, 200) NOT IN (400, 503)
), depths AS (
    SELECT *, coalesce(here, 1) * uncached / scale AS depth,
           coalesce(sum(coalesce(here, 1) * uncached / scale) OVER (PARTITION BY source_id, line ORDER BY received_at, later_source, later_line
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM later
), paired AS (
    SELECT *, probability * exp(-before) * (1 - exp(-depth)) AS reuse FROM depths WHERE depth > 0
)
SELECT c.source_id, c.line, c.node, c.rank, p.later_source, p.later_line, coalesce(p.reuse, 0) AS reuse,
       p.later_tenant IS NULL OR p.later_tenant IS DISTINCT FROM c.tenant_id AS cross_tenant,
       least(p.uncached, c.prompt_tokens) AS tokens, p.page_size, p.cached, p.cached + p.uncached AS prompt, c.probability
FROM copied c LEFT JOIN paired p USING (source_id, line);

INSERT INTO source_pairs
SELECT source_id, line, 'abort-early-release', 'request', later_source, later_line, node, rank, reuse, 0,
       reuse * tokens, reuse * tokens / page_size, cached, prompt, 'prompt'
FROM reused WHERE reuse > 0 ORDER BY source_id, line, later_source, later_line;

INSERT INTO pairings
SELECT source_id, line, 'abort-early-release', any_value(node), any_value(rank), 1, NULL, NULL, count(later_line), 1, 1,
       1 - exp(sum(CASE WHEN cross_tenant THEN ln(1 - reuse) ELSE 0 END)), 0, 0, 0,
       ['from the order of prompts on the prefill node: its prefix cache is not modelled']
FROM reused GROUP BY source_id, line ORDER BY source_id, line;

INSERT INTO source_reads
SELECT later_source, later_line, 'abort-early-release', 1 - exp(sum(ln(1 - reuse))),
       1 - exp(sum(CASE WHEN cross_tenant THEN ln(1 - reuse) ELSE 0 END)), 0,
       sum(CASE WHEN cross_tenant THEN reuse * tokens ELSE 0 END)
FROM reused WHERE reuse > 0 GROUP BY ALL ORDER BY ALL;

DROP TABLE reused;

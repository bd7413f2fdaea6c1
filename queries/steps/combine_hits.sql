-- Hits of one request and defect make a suspect. Its level is that of its
-- strongest sign, or the highest that level_combinations gives for signs that
-- read different evidence.
DELETE FROM flagged;
INSERT INTO flagged
WITH signs AS (
    SELECT h.*, r.defect, r.family, list_position(['possible', 'strong', 'certain'], h.level) AS rank
    FROM hits h JOIN rule_runs r USING (rule)
    WHERE h.level <> 'context' AND h.suppressed IS NULL
), together AS (
    SELECT source_id, line, defect, max(rank) AS strongest, count(DISTINCT family) AS families,
           max(probability) AS probability, min(input_limit) AS input_limit, max(ttft_bound_ms) AS ttft_bound_ms,
           list(rule ORDER BY rule) AS rules, list(reason ORDER BY rule) AS reasons
    FROM signs GROUP BY source_id, line, defect
), raised AS (
    SELECT list_position(['possible', 'strong', 'certain'], strongest) AS strongest, families,
           list_position(['possible', 'strong', 'certain'], gives) AS gives
    FROM level_combinations
)
SELECT t.source_id, t.line, t.defect,
       ['possible', 'strong', 'certain'][greatest(t.strongest,
           coalesce((SELECT max(r.gives) FROM raised r WHERE r.strongest = t.strongest AND t.families >= r.families), 0))] AS level,
       t.probability, t.input_limit, t.ttft_bound_ms, t.rules, t.reasons
FROM together t ORDER BY t.source_id, t.line, t.defect;

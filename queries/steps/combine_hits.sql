-- Hits of one request and defect make a suspect. Two signs that read different
-- evidence raise the strongest one's level by one step.
DELETE FROM flagged;
INSERT INTO flagged
WITH signs AS (
    SELECT h.*, r.defect, r.family, list_position(['possible', 'strong', 'certain'], h.level) AS rank
    FROM hits h JOIN rule_runs r USING (rule)
    WHERE h.level <> 'context'
)
SELECT source_id, line, defect,
       ['possible', 'strong', 'certain'][least(3, max(rank) + (count(DISTINCT family) > 1)::INT)] AS level,
       max(probability) AS probability,
       min(input_limit) AS input_limit,
       max(ttft_bound_ms) AS ttft_bound_ms,
       list(rule ORDER BY rule) AS rules,
       list(reason ORDER BY rule) AS reasons
FROM signs GROUP BY source_id, line, defect ORDER BY source_id, line, defect;

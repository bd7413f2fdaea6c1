-- Suspects with the probability that they attended to another tenant's request:
-- that of a named source, or of the unknown owner where no source is named.
WITH cross_read AS (
    SELECT suspect_source_id AS source_id, suspect_line AS line, defect, sum(cross_probability) AS named, sum(reached) AS reached, max(orderings) AS orderings
    FROM pairings GROUP BY ALL
), foreign_tokens AS (
    SELECT suspect_source_id AS source_id, suspect_line AS line, defect,
           sum(exposed_tokens) FILTER (source_kind <> 'none') AS tokens,
           sum(probability) FILTER (source_kind = 'unknown') AS unknown_owner
    FROM source_pairs GROUP BY ALL
)
SELECT s.defect, coalesce(r.tenant_id, ''), s.level, s.probability,
       CASE WHEN c.orderings IS NULL THEN 1 ELSE least(1, c.named) END,
       coalesce(f.unknown_owner, 0) > 0, coalesce(f.tokens, 0), epoch_us(r.received_at)
FROM suspects s JOIN requests r USING (source_id, line)
LEFT JOIN cross_read c USING (source_id, line, defect)
LEFT JOIN foreign_tokens f USING (source_id, line, defect)
ORDER BY s.defect, 2, s.source_id, s.line

-- Which independent kinds of evidence caught each suspect, for the estimate of
-- what none of them caught.
SELECT r.defect, h.source_id, h.line, list(DISTINCT r.family ORDER BY r.family)
FROM hits h JOIN rule_runs r USING (rule)
WHERE h.level <> 'context' AND h.suppressed IS NULL
GROUP BY ALL ORDER BY ALL

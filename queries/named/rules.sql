-- What became of each rule: rows assessed and not, hits, hits set aside, time taken, and why it did not run
SELECT r.rule, r.level, r.status, r.defect, r.family, r.subject, r.ran, r.assessed, r.not_assessed, r.hits, r.suppressed,
       round(t.took_ms, 1) AS took_ms, coalesce(any_value(r.why_not), string_agg(g.rows_lacking || ' lack ' || g.field, '; ' ORDER BY g.rows_lacking DESC, g.field)) AS why,
       r.settings, r.digest
FROM rule_runs r LEFT JOIN rule_times t USING (rule) LEFT JOIN rule_gaps g USING (rule)
GROUP BY ALL
ORDER BY r.rule

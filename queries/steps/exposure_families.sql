-- Kinds of evidence that were looked at, by defect.
SELECT defect, family FROM rule_runs WHERE ran AND level <> 'context' AND assessed > 0 GROUP BY ALL ORDER BY ALL

-- What rules say of nodes: capacity gaps, versions inside advisories, checks that are off, complaints
SELECT rule, node, rank, found_at, reason
FROM node_findings
ORDER BY node NULLS LAST, found_at NULLS FIRST, rank NULLS FIRST, rule, reason

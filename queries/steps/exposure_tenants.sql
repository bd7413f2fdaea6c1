-- Tenants with what bears on ruling them out, defect apart: rows that a defect
-- could have touched, and rows whose size or status nobody can assess.
WITH fixed AS (
    SELECT p.node, a.defect, bool_and(a.state = 'fixed') AS fixed
    FROM pools p JOIN pool_advisories a USING (pool_id)
    WHERE p.node IS NOT NULL AND p.role IN ('prefill', 'decode', 'unified')
    GROUP BY ALL
), defects AS (
    SELECT unnest(['oversize-placeholder', 'abort-late-write', 'abort-early-release', 'offload-slot-reuse']) AS defect
), rows_of AS (
    SELECT coalesce(tenant_id, '') AS tenant_id, prefill_node, decode_node, coalesce(serving = 'unified', false) AS unified,
           count(*) AS requests,
           count(*) FILTER (prompt_tokens IS NULL OR http_status IS NULL OR received_at IS NULL) AS blind,
           min(received_at) AS first_at, max(received_at) AS last_at
    FROM request_facts GROUP BY ALL
)
SELECT d.defect, t.tenant_id, sum(t.requests)::BIGINT,
       sum(t.requests) FILTER (NOT coalesce(t.unified AND d.defect <> 'offload-slot-reuse' OR (p.fixed AND q.fixed), false))::BIGINT AS touched,
       coalesce(sum(t.blind) FILTER (NOT t.unified), 0)::BIGINT AS blind
FROM rows_of t CROSS JOIN defects d
LEFT JOIN fixed p ON p.node = t.prefill_node AND p.defect = d.defect
LEFT JOIN fixed q ON q.node = t.decode_node AND q.defect = d.defect
GROUP BY d.defect, t.tenant_id
UNION ALL
SELECT d.defect, i.tenant_id, 0, 0, 0 FROM incident_tenants i CROSS JOIN defects d
WHERE i.tenant_id NOT IN (SELECT tenant_id FROM rows_of)
ORDER BY 1, 2
